# SPDX-License-Identifier: MIT
"""What tests/cli/peer-matrix is made of."""
