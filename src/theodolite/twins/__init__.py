"""The twins: tiny vision-language models of known reasoning, one trained to use the picture and one to ignore it."""
