package io.bucketstate.move.read

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.bucketstate.checkpoint.records.FamilyEncodings
import io.bucketstate.config.StoreConfig
import io.bucketstate.record.{FamilySpec, Record, TimedValue}
import io.bucketstate.spark.rows.{KeyCodec, KeyCodecs, RowListCodec, RowSpace}

/** Keys of a family of this project's files, to be placed. Not thread-safe. */
private[move] final class OwnKeys(family: SourceFamily, spec: FamilySpec) {
  val codec: KeyCodec =
    KeyCodecs.forSpec(family.name, family.spec, family.valueSchema, spec.bucketKey)

  val space: RowSpace = new RowSpace(family.keySchema.length)
}

/** A partition of a store of this project as rows. */
private[move] final class OwnRows(
    store: SourceStore,
    root: Path,
    partition: Int,
    version: Long,
    config: StoreConfig,
    hadoop: Configuration
) extends StateRows {
  private[this] val records = new OwnRecords(store, root, partition, version, config, hadoop)
  private[this] val byName = store.families.map(f => f.name -> f).toMap
  private[this] val evolving = store.schemas(root, hadoop)

  private[this] val rows =
    records.state.families.iterator.flatMap(spec => byName.get(spec.name).map(_ -> spec)).flatMap {
      case (family, spec) => rowsOf(family, spec)
    }

  private def rowsOf(family: SourceFamily, spec: FamilySpec): Iterator[StateRow] = {
    val keys = new OwnKeys(family, spec)
    val schemas = evolving.filter(_ => OwnRows.evolves(spec))
    val codec = store.described(family, schemas).newRowCodec()
    val lists = new RowListCodec(codec, family.valueSchema.length)
    val space = new RowSpace(family.valueSchema.length)
    records.state.of(spec).map { record =>
      val from = Record.keyEnd(record)
      val values =
        if (spec.multiValued) lists.all(record, from)
        else {
          val at = if (spec.expiry.isDefined) TimedValue.rowAt(record, from) else from
          Iterator.single(codec.decode(record, at, record.length, space))
        }
      new StateRow(family, keys.codec.decode(record, keys.space), values)
    }
  }

  override def hasNext: Boolean = rows.hasNext

  override def next(): StateRow = rows.next()

  override def close(): Unit = records.close()
}

private[move] object OwnRows {
  private val Evolving = Set(FamilyEncodings.EvolvingRow, FamilyEncodings.EvolvingRows)

  /** Whether values bear the number of the schema that they were written with. */
  def evolves(spec: FamilySpec): Boolean = Evolving(spec.descriptor.valueEncoding)
}
