// SPDX-License-Identifier: Apache-2.0
// Writes small JPEG files for the fuzzer to start from. Arguments: folder, number of files.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "../cpp/jpeg_files.h"

int main(int argc, char** argv) {
  using namespace torchdali::io;  // NOLINT: a program of its own
  if (argc != 3) return 2;
  Random random(11);
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    Encoding e = random_encoding(random);
    // Several MCUs in each direction, no more: small inputs are what a fuzzer is quick with. But
    // some are longer than the window that scans are read through.
    choose_scans(e, i, random);
    const bool large = i % 20 == 0;
    e.width = large ? 110 : 1 + e.width % 40;
    e.height = large ? 90 : 1 + e.height % 40;
    if (large) {
      e.quality = 100;
      e.content = 0;
    }
    const File file = encode(e, random);
    std::ofstream out(std::string(argv[1]) + "/seed-" + std::to_string(i) + ".jpg",
                      std::ios::binary);
    out.write(reinterpret_cast<const char*>(file.data()),
              static_cast<std::streamsize>(file.size()));
    if (!out) return 1;
  }
}
