package io.bucketstate.config

import io.bucketstate.error.InvalidException
import io.bucketstate.testkit.TidySuite

class ObjectStoreSchemesSuite extends TidySuite {
  private val key = ConfigKey.ObjectStoreSchemes.key

  private def parse(value: Option[String]): Set[String] = StoreConfig
    .parse(
      value.map(key -> _).toMap,
      SparkHonoured(100, 30, -1, 2, 10, "lz4", true, 1, 500, false, false)
    )
    .objectStores

  test("the list is the user's, or the default") {
    assert(parse(None) == Set("s3a", "s3", "gs", "abfs", "abfss"))
    assert(parse(Some("s3a, oss")) == Set("s3a", "oss"))
    assert(parse(Some("none")) == Set.empty)
  }

  test("what is no scheme is refused, and so is the local disk") {
    for (wrong <- Seq("s3a://", "S3A", "s3a,,gs", "file", "none,s3a:")) {
      val message = intercept[InvalidException](parse(Some(wrong))).getMessage
      assert(message.contains(key) && message.contains(s"'$wrong'"), message)
    }
  }
}
