package io.bucketstate.hdfs

import java.nio.file.{Files, Path}
import java.time.Duration
import java.util.ArrayDeque

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.hadoop.hdfs.protocol.HdfsConstants.SafeModeAction
import org.apache.hadoop.hdfs.{DistributedFileSystem, MiniDFSCluster}

import io.bucketstate.checkpoint.io.{FileStore, FileStores}
import io.bucketstate.testkit.TempFolder

/**
 * A namenode and some datanodes in this JVM, as real as they come: RPC and data go over loopback sockets.
 */
final class MiniHdfs private (val cluster: MiniDFSCluster, folder: Path, val conf: Configuration)
    extends AutoCloseable {

  private val stopped = new ArrayDeque[MiniDFSCluster.DataNodeProperties]

  /** Such as `hdfs://127.0.0.1:12345`. */
  val uri: String = s"hdfs://127.0.0.1:${cluster.getNameNodePort}"

  def fileSystem: DistributedFileSystem = cluster.getFileSystem

  /** The folder that has the name of a local one. */
  def path(local: Path): HadoopPath = new HadoopPath(s"$uri$local")

  def store(local: Path): FileStore = FileStores.forFolder(path(local), conf)

  /** Files below a folder that a client has open for writing. */
  def openFiles(local: Path): Seq[HadoopPath] = {
    val found = fileSystem.listFiles(path(local), true)
    Iterator
      .continually(found)
      .takeWhile(_.hasNext)
      .map(_.next().getPath)
      .filterNot(fileSystem.isFileClosed(_))
      .toList
  }

  /** One of those that run. */
  def stopDataNode(): Unit = stopped.push(cluster.stopDataNode(0))

  /** All that were stopped; ends when the namenode knows them. */
  def startDataNodes(): Unit = {
    while (!stopped.isEmpty) assert(cluster.restartDataNode(stopped.pop(), true))
    cluster.waitActive()
  }

  def safeMode(on: Boolean): Unit = {
    val action = if (on) SafeModeAction.SAFEMODE_ENTER else SafeModeAction.SAFEMODE_LEAVE
    cluster.getNameNodeRpc.setSafeMode(action, false)
    ()
  }

  /** How long a writer that is not heard of keeps its files from others, and until the namenode closes them. */
  def leasesEnd(after: Duration): Unit = cluster.setLeasePeriod(after.toMillis, after.toMillis)

  def stopNameNode(): Unit = cluster.shutdownNameNode(0)

  /** Also of one that is stopped. Ends with the namenode out of safe mode and all datanodes known to it. */
  def restartNameNode(): Unit = cluster.restartNameNode(true)

  def close(): Unit = {
    cluster.shutdown()
    TempFolder.delete(folder)
  }
}

object MiniHdfs {

  // Small, so that tests with small files have files of several blocks.
  private val BlockBytes = 64L * 1024

  /** What every client is to be set to. */
  val clientSettings: Seq[(String, String)] = Seq(
    "dfs.blocksize" -> BlockBytes.toString,
    // As many as the most datanodes of a cluster here: whichever is lost was in use.
    "dfs.replication" -> "2",
    // How soon a client asks again for a block, or whether one is complete; each time after twice as long.
    "dfs.client.block.write.locateFollowingBlock.initial.delay.ms" -> "50"
  )

  /** @param settings of servers and clients */
  def start(dataNodes: Int, settings: (String, String)*): MiniHdfs = {
    val folder = Files.createTempDirectory("bucketstate-hdfs")
    val conf = new Configuration
    conf.set("hadoop.tmp.dir", folder.toString)
    conf.setLong("dfs.namenode.fs-limits.min-block-size", BlockBytes)
    clientSettings.foreach { case (key, value) => conf.set(key, value) }
    settings.foreach { case (key, value) => conf.set(key, value) }
    val cluster = new MiniDFSCluster.Builder(conf, folder.toFile)
      .numDataNodes(dataNodes)
      .build()
    cluster.waitActive()
    new MiniHdfs(cluster, folder, conf)
  }
}
