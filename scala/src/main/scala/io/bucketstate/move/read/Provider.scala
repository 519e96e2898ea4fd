package io.bucketstate.move.read

import io.bucketstate.error.InvalidException

/** Whose files a state is in. */
private[bucketstate] sealed abstract class Provider(val name: String, val className: String)

private[bucketstate] object Provider {
  val Setting = "spark.sql.streaming.stateStore.providerClass"

  private val Sparks = "org.apache.spark.sql.execution.streaming.state."

  case object Ours extends Provider("bucketstate", "io.bucketstate.BucketedStateStoreProvider")
  case object RocksDb extends Provider("rocksdb", s"${Sparks}RocksDBStateStoreProvider")
  case object Hdfs extends Provider("hdfs", s"${Sparks}HDFSBackedStateStoreProvider")

  val All: Seq[Provider] = Seq(Ours, RocksDb, Hdfs)

  /** @param recorded class name, which queries of old did not record: there was one provider then */
  def of(recorded: Option[String]): Provider =
    recorded.fold[Provider](Hdfs) { name =>
      All.find(_.className == name).getOrElse {
        throw new InvalidException(
          s"The query was run with the state store provider $name, whose files are not known",
          "If they are laid out as those of Spark's own provider, say which with --source-provider hdfs or rocksdb."
        )
      }
    }

  def named(name: String): Provider = All.find(_.name == name).getOrElse {
    throw new InvalidException(
      s"'$name' is no state store provider",
      s"Give one of ${All.map(_.name).mkString(", ")}."
    )
  }
}
