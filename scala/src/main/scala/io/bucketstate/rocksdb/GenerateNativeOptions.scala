package io.bucketstate.rocksdb

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import com.fasterxml.jackson.databind.{ObjectMapper, SerializationFeature}

import io.bucketstate.config.RocksDbConfig

/**
 * Writes the names of native options as JSON, for Python, which refuses others: run by `make generate` with the file to
 * write. A test compares the committed file with [[GenerateNativeOptions.json]].
 */
object GenerateNativeOptions {

  def main(args: Array[String]): Unit = {
    Files.write(Path.of(args(0)), json.getBytes(UTF_8))
    ()
  }

  def json: String = {
    NativeLibrary.require()
    val mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT)
    val root = mapper.createObjectNode()
    val known = KnownOptions.read()
    for ((group, names) <- Seq(RocksDbConfig.Db -> known.db, RocksDbConfig.Cf -> known.family)) {
      val array = root.putArray(group)
      names.toSeq.sorted.foreach(name => array.add(name))
    }
    val refused = root.putObject("refused")
    OptionRules.reasons.foreach { case (name, why) => refused.put(name, why) }
    mapper.writeValueAsString(root) + "\n"
  }
}
