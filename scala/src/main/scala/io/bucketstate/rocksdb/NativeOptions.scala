package io.bucketstate.rocksdb

import scala.collection.mutable
import scala.util.control.NonFatal

import org.rocksdb.{
  BlockBasedTableConfig,
  BuiltinComparator,
  ColumnFamilyOptions,
  CompactionStyle,
  DBOptions,
  RocksDBException,
  StringAppendOperator
}

import io.bucketstate.config.RocksDbConfig

/**
 * The native options of one store's database: what every database has, the preset, the settings and the factory's, each
 * over those before it, and at last what the engine stands on. Options are checked here, and made of what RocksDB
 * itself parsed.
 *
 * Owns all handles that it gives out: they are open until [[close]], which is for after the database is closed. What is
 * shared belongs to the caller. The constructor throws InvalidException, with the key of the setting, for what cannot
 * work, and UnavailableException where RocksDB cannot be used at all; it leaves nothing open then. For any thread.
 *
 * @param classes has the factory's class; null for the loader of this class
 */
final class NativeOptions(
    config: RocksDbConfig,
    shared: SharedNative,
    classes: ClassLoader = Thread.currentThread.getContextClassLoader
) extends AutoCloseable {
  import NativeOptions._

  NativeLibrary.require()

  private val wanted = OptionTexts(config.dbOptions, config.cfOptions)
  private val texts = RocksDbPreset.Base ++ RocksDbPreset.of(config.preset).options ++ wanted

  /** In the order in which they were made. */
  private val handles = mutable.ArrayBuffer.empty[AutoCloseable]
  private val families = mutable.HashMap.empty[String, ColumnFamilyOptions]
  private var closed = false

  private val (factory, ofDb) = closingIfFailed {
    OptionRules.check(wanted)
    filterText.foreach(TableOptions.bits)
    val (parsed, unused) = parse()
    unused.close()
    own(parsed)
    val factory =
      config.optionsFactory.map(name => name -> own(OptionsFactories.load(name, classes)))
    (
      factory,
      required(factory.fold(parsed) { case (name, f) =>
        own(OptionsFactories.call(name, "db")(f.db(parsed)))
      })
    )
  }

  /** Holds records of the databases that are made with these. */
  def records: RecordCache = shared.records

  /** The options of the database. */
  def db: DBOptions = synchronized {
    mustBeOpen()
    ofDb
  }

  /**
   * The options of the column family of that name: each call gives one and the same object.
   *
   * Throws InvalidException for what the factory did.
   */
  def family(name: String): ColumnFamilyOptions = synchronized {
    mustBeOpen()
    families.getOrElseUpdate(name, make(name))
  }

  /** Closes all that was given out; more than once is allowed. A factory's failure is thrown after all is closed. */
  override def close(): Unit = synchronized {
    if (!closed) {
      closed = true
      // A factory's own objects are in use until the options are closed.
      val (factories, others) = handles.partition(_.isInstanceOf[RocksDbOptionsFactory])
      val failures = (others.reverse ++ factories).flatMap(closeOne)
      handles.clear()
      failures.headOption.foreach(throw _)
    }
  }

  /** Each family has tables of its own: a factory may change them. */
  private def make(name: String): ColumnFamilyOptions = {
    val (unused, parsed) = parse()
    unused.close()
    own(parsed)
    val tables = parsed.tableFormatConfig.asInstanceOf[BlockBasedTableConfig]
    filterText.flatMap(TableOptions.filter).foreach(f => tables.setFilterPolicy(own(f)))
    parsed.setTableFormatConfig(withCache(tables))
    required(factory.fold(parsed) { case (className, f) =>
      own(OptionsFactories.call(className, "columnFamily")(f.columnFamily(name, parsed)))
    })
  }

  private def parse(): (DBOptions, ColumnFamilyOptions) =
    try OptionFile.parse(texts)
    catch { case error: RocksDBException => throw OptionRefusal.explain(wanted, error) }

  private def filterText: Option[String] = texts.family.get(TableOptions.FilterPolicy)

  /**
   * There is no log of RocksDB's to recover from: families are flushed together, and written in order. Whoever closes a
   * database deletes it: a flush before would wait for a disk that may be full.
   */
  private def required(options: DBOptions): DBOptions =
    options
      .setCreateIfMissing(true)
      .setCreateMissingColumnFamilies(true)
      .setErrorIfExists(false)
      .setAtomicFlush(true)
      .setEnablePipelinedWrite(false)
      .setUnorderedWrite(false)
      .setBestEffortsRecovery(false)
      .setAvoidFlushDuringShutdown(true)
      .setWriteBufferManager(shared.writeBuffers)
      .setRateLimiter(shared.rateLimiter)

  private def required(options: ColumnFamilyOptions): ColumnFamilyOptions = {
    def refuse(problem: String, remedy: String) =
      throw OptionsFactories.bad(factory.fold("none")(_._1), problem, remedy)
    if (options.compactionStyle == CompactionStyle.FIFO)
      refuse("sets the compaction style FIFO, which drops the oldest records", "Set another.")
    if (options.compactionFilter != null || options.compactionFilterFactory != null)
      refuse("sets a compaction filter, but only the engine knows which records can go", Unset)
    options.tableFormatConfig match {
      case tables: BlockBasedTableConfig => options.setTableFormatConfig(withCache(tables))
      case _                             =>
        refuse("sets a table format that is not of blocks", "Use a BlockBasedTableConfig.")
    }
    options
      .setComparator(BuiltinComparator.BYTEWISE_COMPARATOR)
      .setMergeOperator(own(new StringAppendOperator("")))
      .setInplaceUpdateSupport(false)
  }

  private def withCache(tables: BlockBasedTableConfig): BlockBasedTableConfig =
    tables.setNoBlockCache(false).setBlockCache(shared.cache)

  private def own[A <: AutoCloseable](handle: A): A = {
    // A factory mostly returns what it was given.
    if (!handles.exists(_ eq handle)) handles += handle
    handle
  }

  private def closeOne(handle: AutoCloseable): Option[Throwable] = handle match {
    case f: RocksDbOptionsFactory =>
      val name = config.optionsFactory.getOrElse(f.getClass.getName)
      try {
        f.close()
        None
      } catch {
        case NonFatal(error) =>
          Some(OptionsFactories.bad(name, s"threw $error in close", "Correct the class.", error))
      }
    case other =>
      other.close()
      None
  }

  private def closingIfFailed[A](body: => A): A =
    try body
    catch {
      case error: Throwable =>
        try close()
        catch { case NonFatal(other) => error.addSuppressed(other) }
        throw error
    }

  private def mustBeOpen(): Unit = if (closed) throw new IllegalStateException("closed")
}

private object NativeOptions {
  private val Unset = "Leave it out."
}
