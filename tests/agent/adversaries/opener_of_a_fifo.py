# wants: Time limit exceeded
import os

os.mkfifo("/box/f")
open("/box/f").read()
