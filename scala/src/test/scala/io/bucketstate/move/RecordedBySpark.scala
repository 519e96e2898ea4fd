package io.bucketstate.move

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path => HadoopPath}
import org.apache.spark.sql.execution.streaming.state.SchemaHelper.SchemaWriter
import org.apache.spark.sql.execution.streaming.state.{
  StateSchemaCompatibilityChecker,
  StateStoreColFamilySchema
}

import io.bucketstate.checkpoint.io.Damage
import io.bucketstate.move.log.{LogText, OffsetEntry}

/** Changes what Spark has recorded of a query in its checkpoint, to what another Spark would have. */
object RecordedBySpark {

  /** Sets settings in the newest entry of the offset log. */
  def settings(checkpoint: Path, changed: (String, String)*): Unit = {
    val folder = checkpoint.resolve("offsets")
    val batch = Using.resource(Files.list(folder)) { all =>
      all.iterator.asScala.flatMap(_.getFileName.toString.toLongOption).max
    }
    val file = folder.resolve(batch.toString)
    val text = LogText.parse(Files.readAllBytes(file), new Damage(file.toString, "offset log"))
    Files.write(file, OffsetEntry(batch, text).withSettings(changed.toMap).text.bytes)
    Files.deleteIfExists(folder.resolve(s".$batch.crc"))
    ()
  }

  /** Replaces the schema of operator 0, which has one column family. */
  def schema(checkpoint: Path)(
      change: StateStoreColFamilySchema => StateStoreColFamilySchema
  ): Unit = {
    val file = new HadoopPath(checkpoint.toString, "state/0/0/_metadata/schema")
    val local = FileSystem.getLocal(new Configuration)
    val changed = StateSchemaCompatibilityChecker.readSchemaFile(local.open(file)).map(change)
    Using.resource(local.create(file, true))(SchemaWriter.createSchemaWriter(2).write(changed, _))
  }
}
