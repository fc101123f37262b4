"""The shadow: what tools of PostgreSQL ask about tables, columns and types, answered from a database that holds no
rows.
"""
