package io.bucketstate.rocksdb

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.util.ArrayList

import scala.util.Using

import org.rocksdb.{
  ColumnFamilyDescriptor,
  ColumnFamilyOptions,
  ConfigOptions,
  DBOptions,
  OptionsUtil
}

/**
 * Options as RocksDB's own file of them, which is the one way in that says what is wrong: the parsers behind
 * `getDBOptionsFromProps` and its like answer with null.
 */
object OptionFile {

  /**
   * New native options, to be closed by the caller. Throws `RocksDBException` for an unknown name or a bad value, and
   * `UnavailableException` where no file can be written; nothing is left open then. Filters are left out, see
   * [[TableOptions.FilterPolicy]].
   */
  def parse(texts: OptionTexts): (DBOptions, ColumnFamilyOptions) = {
    val file = NativeErrors.temporary(Files.createTempFile("bucketstate-", ".options"))
    val db = new DBOptions()
    // Filled from behind: what is in it is ours to close, also when this fails half-way.
    val families = new ArrayList[ColumnFamilyDescriptor](1)
    try {
      NativeErrors.temporary(Files.write(file, render(texts).getBytes(UTF_8)))
      Using.resource(new ConfigOptions().setIgnoreUnknownOptions(false)) { strict =>
        OptionsUtil.loadOptionsFromFile(strict, file.toString, db, families)
      }
      (db, families.get(0).getOptions)
    } catch {
      case error: Throwable =>
        db.close()
        families.forEach(_.getOptions.close())
        throw error
    } finally Files.delete(file)
  }

  private def render(texts: OptionTexts): String = {
    val (tables, family) = (texts.family - TableOptions.FilterPolicy).partition { case (name, _) =>
      TableOptions.Names(name)
    }
    // The version is that of the file's rules: RocksDB passes over what it does not know of a newer one than itself.
    s"""[Version]
       |  rocksdb_version=9.0.0
       |  options_file_version=1.1
       |[DBOptions]
       |${lines(texts.db)}
       |[CFOptions "default"]
       |${lines(family)}
       |[TableOptions/BlockBasedTable "default"]
       |${lines(tables)}
       |""".stripMargin
  }

  private def lines(options: Map[String, String]): String =
    options.toSeq.sorted.map { case (name, value) => s"  $name=$value" }.mkString("\n")
}
