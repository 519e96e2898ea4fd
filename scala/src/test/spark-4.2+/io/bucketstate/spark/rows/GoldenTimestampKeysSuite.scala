package io.bucketstate.spark.rows

import org.apache.spark.sql.execution.streaming.state._

import io.bucketstate.checkpoint.records.FamilyEncodings

/** Keys of the encodings that Spark has from 4.2 on. */
class GoldenTimestampKeysSuite extends GoldenKeysBehaviour {
  override protected def specOf(family: GoldenKeys.Family): Option[KeyStateEncoderSpec] =
    GoldenTimestampKeysSuite.specOf(family)

  test("no family of the golden file is left out by both suites") {
    val untested = GoldenKeys.families.filter(f => f.spec.isEmpty && specOf(f).isEmpty)
    assert(untested.map(_.encoding) == Nil)
  }
}

object GoldenTimestampKeysSuite {
  private def specOf(family: GoldenKeys.Family): Option[KeyStateEncoderSpec] =
    family.encoding match {
      case FamilyEncodings.TimestampPrefix =>
        Some(TimestampAsPrefixKeyStateEncoderSpec(family.schema))
      case FamilyEncodings.TimestampPostfix =>
        Some(TimestampAsPostfixKeyStateEncoderSpec(family.schema))
      case _ => None
    }

  def main(args: Array[String]): Unit = GoldenKeys.write(f => f.spec.orElse(specOf(f)))
}
