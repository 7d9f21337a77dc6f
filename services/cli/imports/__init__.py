"""What other tools remember, as turns, statements and notes of BRB.

`sources` finds the documents in a file, a folder or a ZIP and opens them; `formats` tells by its content what a document is; one module for each
format reads it, record by record, without keeping what it has read; `sending` brings what they find to BRB. All but `sources` and `sending` are pure
but for reading the stream that they are given.
"""
