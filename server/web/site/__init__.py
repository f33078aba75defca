"""The pages of `counterpoint view`: a list of the stored debates and a page of each, live, with buttons.

`build_site` is an application that another server can mount behind access control of its own.
"""
