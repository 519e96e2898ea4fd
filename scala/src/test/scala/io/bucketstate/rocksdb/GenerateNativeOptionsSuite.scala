package io.bucketstate.rocksdb

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

class GenerateNativeOptionsSuite extends AnyFunSuite {

  test("the names that Python knows are those of this RocksDB") {
    val file = Path.of("python/src/bucketstate/rocksdb_options.json")
    assert(
      new String(Files.readAllBytes(file), UTF_8) == GenerateNativeOptions.json,
      "run make generate"
    )
  }
}
