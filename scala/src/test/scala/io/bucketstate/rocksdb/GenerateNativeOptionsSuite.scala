package io.bucketstate.rocksdb

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import io.bucketstate.testkit.TidySuite

class GenerateNativeOptionsSuite extends TidySuite {

  test("the names that Python knows are those of this RocksDB") {
    val file = Path.of("python/src/bucketstate/rocksdb_options.json")
    assert(
      new String(Files.readAllBytes(file), UTF_8) == GenerateNativeOptions.json,
      "run make generate"
    )
  }
}
