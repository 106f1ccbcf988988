"""Ask: do answers to your own questions depend on your pictures?

Each question is asked with its picture, without it, and with another question's picture. The model needs to give
text answers only.
"""
