package io.bucketstate.testkit

/** The settings of a session whose local files are [[ForklessFiles]]. */
object ForklessSettings {

  /** Without Hadoop's cache, which gives out what was made first, whatever it was told since. */
  val all: Seq[(String, String)] = Seq(
    "fs.file.impl" -> classOf[ForklessFiles.OfSystem].getName,
    "fs.file.impl.disable.cache" -> "true",
    "fs.AbstractFileSystem.file.impl" -> classOf[ForklessFiles.OfContext].getName
  ).map { case (key, value) => s"spark.hadoop.$key" -> value }
}
