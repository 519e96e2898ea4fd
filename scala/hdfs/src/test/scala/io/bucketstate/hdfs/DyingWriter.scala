package io.bucketstate.hdfs

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.bucketstate.checkpoint.io.FileStores

/** Dies in the middle of writing a file: `URI FOLDER NAME`. */
object DyingWriter {

  val ExitCode = 99

  def main(arguments: Array[String]): Unit = {
    val Seq(uri, folder, name) = arguments.toSeq: @unchecked
    val conf = new Configuration
    MiniHdfs.clientSettings.foreach { case (key, value) => conf.set(key, value) }
    FileStores.forFolder(new Path(s"$uri$folder"), conf).write(name) { out =>
      // More than a block, so that the namenode and a datanode know of it.
      out.write(new Array[Byte](100_000))
      out.flush()
      Runtime.getRuntime.halt(ExitCode)
    }
  }
}
