"""The studio: a private-data desk in the browser, on this machine alone, over the same door and files.

Pages are plain HTML that a server on the loopback address renders: Starlette, because its pages are functions
that tests call without a browser, it keeps no state of its own in a socket, and every header is ours to set.
NiceGUI and Shiny hold a page's state in a web socket, need inline script and style, and lose what was typed
with a reload. Nothing heavy is imported here, so that the command line stays quick.
"""
