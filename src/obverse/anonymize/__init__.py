"""The classic baseline: tables made k-anonymous, l-diverse or t-close, with their known failings shown.

Pure; numpy alone.
"""
