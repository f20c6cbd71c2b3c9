"""The JSON API of participants and operators: a session login, the contest, the operators' verbs.

authentication  who asks: a session that no other site can use
door            what every address here begins with
identity        logging in and out
activities      what is on, and taking part
submissions     sending in, looking at what became of it
runners         what operators decide about machines
operators       what operators decide about judging
form, source    what comes in: the multipart body, the program in it
inputs          what comes in: the JSON bodies
documents       what goes out
"""
