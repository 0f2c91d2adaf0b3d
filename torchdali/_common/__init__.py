# SPDX-License-Identifier: Apache-2.0
"""What every other part may use: locations in the user's code, samples, enumerations."""
