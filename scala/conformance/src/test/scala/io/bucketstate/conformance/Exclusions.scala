package io.bucketstate.conformance

/**
 * A test of Spark's that cannot pass because it is about another provider.
 *
 * @param suite  simple name of the class of this project that runs it
 * @param test   its name, to the letter
 * @param reason for people
 */
final case class Exclusion(suite: String, test: String, reason: String)

object Exclusions {
  val all: Seq[Exclusion] = Seq(
    Exclusion(
      "BucketedStateStoreSuite",
      "SPARK-18342: commit fails when rename fails",
      "Asks for the class names of Spark's own stores in the error's message. The suite has the same " +
        "test with this provider's."
    )
  )

  def of(suite: String): Seq[Exclusion] = all.filter(_.suite == suite)
}
