package io.bucketstate.rocksdb.state

import io.bucketstate.error.InvalidException
import io.bucketstate.rocksdb.Databases.Plain
import io.bucketstate.rocksdb.{BadCloseFactory, CountedFactory, NullFactory}
import io.bucketstate.testkit.TidySuite

class OptionsCheckSuite extends TidySuite {

  test("settings that are right are tried once, and what is made of them is closed") {
    val settings = Plain.copy(optionsFactory = Some(classOf[CountedFactory].getName))
    (1 to 3).foreach(_ => OptionsCheck.require(settings))
    assert(CountedFactory.made.get == 1)
    val (family, options) = CountedFactory.seen.get
    assert(family == "default" && !options.isOwningHandle)
    OptionsCheck.require(settings.copy(preset = "small-memory"))
    assert(CountedFactory.made.get == 2)
  }

  test("settings that are wrong are refused each time, whatever it is that is wrong") {
    val wrong = Seq(
      Plain.copy(dbOptions = Map("max_backgroundjobs" -> "4")) -> "Did you mean",
      Plain.copy(cfOptions = Map("write_buffer_size" -> "huge")) -> "which RocksDB refuses",
      Plain.copy(optionsFactory = Some("no.such.Factory")) -> "is not on the class path",
      Plain.copy(optionsFactory = Some(classOf[NullFactory].getName)) -> "null from columnFamily",
      Plain.copy(optionsFactory = Some(classOf[BadCloseFactory].getName)) -> "cannot close in close"
    )
    for {
      (settings, part) <- wrong
      _ <- 1 to 2
    } {
      val error = intercept[InvalidException](OptionsCheck.require(settings))
      assert(error.getMessage.contains(part))
    }
  }
}
