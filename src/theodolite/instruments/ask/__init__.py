"""Ask: do answers to your own questions depend on your pictures?

Each question is asked with its picture, without it, and with the picture of another question. Text answers are enough.
"""
