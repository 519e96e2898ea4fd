package io.bucketstate.rocksdb

import java.nio.file.Files

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.rocksdb.{Options, RocksDB}

import io.bucketstate.checkpoint.io.WorkFolder
import io.bucketstate.config.{NativeKey, Nearest}

/**
 * The names of native options that users can give, as this RocksDB has them.
 *
 * @param db     of a database
 * @param family of a column family or of its tables
 */
final case class KnownOptions(db: Set[String], family: Set[String]) {

  /** The full key of the option that was meant by a name that RocksDB does not know. */
  def nearest(isDb: Boolean, name: String): String = {
    val keys = db.toSeq.sorted.map((true, _)) ++ family.toSeq.sorted.map((false, _))
    // A right name in the other group is nearer than any other name.
    val (ofDb, near) = keys.minBy { case (ofDb, other) =>
      2 * Nearest.distance(name, other) + (if (ofDb == isDb) 0 else 1)
    }
    if (ofDb) NativeKey.db(near) else NativeKey.cf(near)
  }
}

object KnownOptions {

  /** What RocksDB writes of a new database: it makes one in a temporary folder, so this is for messages only. */
  def read(): KnownOptions = {
    val folder = Files.createTempDirectory("bucketstate-options-")
    try {
      Using.resource(new Options().setCreateIfMissing(true)) { options =>
        RocksDB.open(options, folder.toString).close()
      }
      val sections = Using.resource(Files.list(folder)) { files =>
        val file = files.iterator.asScala.filter(_.getFileName.toString.startsWith("OPTIONS-"))
        parse(Files.readAllLines(file.next()).asScala.toSeq)
      }
      def of(start: String) = sections.collect {
        case (section, name) if section.startsWith(start) && allowed(section, name) => name
      }.toSet
      KnownOptions(of("[DBOptions"), of("[CFOptions") ++ of("[TableOptions"))
    } finally WorkFolder.deleteAll(folder)
  }

  /** Section and name, of each line that has an option. */
  private[rocksdb] def parse(lines: Seq[String]): Seq[(String, String)] =
    lines
      .map(_.trim)
      .foldLeft((Seq.empty[(String, String)], "")) {
        case ((found, _), line) if line.startsWith("[")                => (found, line)
        case ((found, section), line) if line.matches("[A-Za-z].*=.*") =>
          (found :+ (section -> line.takeWhile(_ != '=')), section)
        case (same, _) => same
      }
      ._1

  private def allowed(section: String, name: String): Boolean =
    if (section.startsWith("[DBOptions")) OptionRules.allowsDb(name)
    else OptionRules.allowsFamily(name)
}
