package io.bucketstate.rocksdb

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.{ArrayList, List => JList}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.rocksdb._

import io.bucketstate.config.RocksDbConfig
import io.bucketstate.testkit.TempFolder

/** Databases with [[NativeOptions]], and what came of the options. */
object Databases {

  val Plain: RocksDbConfig = RocksDbConfig("default", Map.empty, Map.empty, None)

  final class Shared extends SharedNative with AutoCloseable {
    RocksDB.loadLibrary()
    override val cache: Cache = new LRUCache(8L << 20)
    override val records: RecordCache = new RecordCache(8L << 20)
    override val writeBuffers: WriteBufferManager = new WriteBufferManager(8L << 20, cache)
    override val rateLimiter: RateLimiter = new RateLimiter(1L << 30)

    override def close(): Unit = Seq(writeBuffers, rateLimiter, cache, records).foreach(_.close())
  }

  def withShared[A](body: Shared => A): A = Using.resource(new Shared)(body)

  def withOptions[A](config: RocksDbConfig)(body: NativeOptions => A): A =
    withShared(shared => Using.resource(new NativeOptions(config, shared))(body))

  /** Opens a database with the families `default` and `other`, and closes it again. */
  def withDatabase[A](options: NativeOptions)(
      body: (RocksDB, Seq[ColumnFamilyHandle], Path) => A
  ): A =
    TempFolder.use { folder =>
      val descriptors = Seq("default", "other")
        .map(name => new ColumnFamilyDescriptor(name.getBytes(UTF_8), options.family(name)))
      val handles: JList[ColumnFamilyHandle] = new ArrayList
      val db = RocksDB.open(options.db, folder.toString, descriptors.asJava, handles)
      try body(db, handles.asScala.toSeq, folder)
      finally {
        handles.forEach(_.close())
        db.close()
      }
    }

  /** The lines `name=value` of the file of options that RocksDB wrote, the newest one. */
  def written(folder: Path): Set[String] = Using.resource(Files.list(folder)) { files =>
    val file = files.iterator.asScala.filter(_.getFileName.toString.startsWith("OPTIONS-")).max
    Files.readAllLines(file).asScala.map(_.trim).toSet
  }
}
