"""Publish: releases that stand on their own. Methods choose what is measured, and see noisy values only."""
