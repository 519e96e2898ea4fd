package io.bucketstate.spark.rows

import org.apache.spark.sql.execution.streaming.state.KeyStateEncoderSpec

import io.bucketstate.testkit.TidySuite

/** Keys lie where the golden file says, as the bytes that it says: what was written once is found for ever. */
trait GoldenKeysBehaviour extends TidySuite {
  import GoldenKeys._

  protected def specOf(family: Family): Option[KeyStateEncoderSpec]

  for {
    family <- families
    spec <- specOf(family)
  } test(s"family ${family.id}: $family") {
    val encoded = new Encoded(family, spec)
    assert(encoded.encoding == family.encoding)
    assert(family.keys.nonEmpty)
    family.keys.foreach { key =>
      withClue(s"${key.values}: ") {
        assert(encoded.place(key.row) == key.expected)
        assert(encoded.again(key.row) == key.row)
      }
    }
  }
}

class GoldenKeysSuite extends GoldenKeysBehaviour {
  override protected def specOf(family: GoldenKeys.Family): Option[KeyStateEncoderSpec] =
    family.spec
}
