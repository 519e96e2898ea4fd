package io.bucketstate.move.read

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state.{
  InMemoryStateSchemaProvider,
  KeyStateEncoderSpec,
  NoPrefixKeyStateEncoderSpec,
  StateSchemaMetadata,
  StateSchemaProvider,
  StateStore,
  StateStoreColFamilySchema,
  StateStoreId
}
import org.apache.spark.sql.types.StructType

import io.bucketstate.move.place.Deciding
import io.bucketstate.spark.FamilySchema
import io.bucketstate.spark.rows.KeyCodecs

/**
 * A column family as the files of schemas have it. Immutable.
 *
 * @param deciding which part of its keys decides where they lie
 */
private[bucketstate] final case class SourceFamily(
    schema: StateStoreColFamilySchema,
    spec: KeyStateEncoderSpec,
    multiValued: Boolean,
    isInternal: Boolean,
    deciding: Deciding
) {
  def name: String = schema.colFamilyName

  def keySchema: StructType = schema.keySchema

  def valueSchema: StructType = schema.valueSchema

  def isDefault: Boolean = name == StateStore.DEFAULT_COL_FAMILY_NAME

  /** How many first columns of a key are enough to know its bucket by, where not all of them are needed; else 0. */
  def prefixColumns: Int = KeyCodecs.prefixColumns(spec)
}

/**
 * One store of one operator, of which each partition has one. Immutable; goes to executors.
 *
 * @param families    the default one first, if it is used, then by their names
 * @param default     the default family, which every store has, also where nothing is kept in it
 * @param schemaFiles whole paths of those that are there, oldest first, where values may be of older schemas
 * @param ids         the checkpoint id of each partition, where the query has ids
 */
private[bucketstate] final case class SourceStore(
    operator: Long,
    operatorName: String,
    name: String,
    families: Seq[SourceFamily],
    default: SourceFamily,
    schemaFiles: Seq[String],
    ids: Option[Seq[String]]
) {

  /** Whether there are families beside the default one. */
  def useColumnFamilies: Boolean = families.exists(!_.isDefault)

  /** Whether keys lie in partition 0 alone. */
  def isGlobal: Boolean = families.forall(_.deciding == Deciding.Nothing)

  /** The families of a store of this project, by the numbers that files name them by. */
  def numbered: Seq[SourceFamily] =
    if (families.exists(_.isDefault)) families else default +: families

  /** @param root of the checkpoint */
  def id(root: Path, partition: Int): StateStoreId =
    StateStoreId(new Path(root, "state").toString, operator, partition, name)

  def folder(root: Path, partition: Int): Path = id(root, partition).storeCheckpointLocation()

  /** The schemas by their numbers, where Spark lets those of values change. */
  def schemas(root: Path, hadoop: Configuration): Option[StateSchemaProvider] =
    Option.when(schemaFiles.nonEmpty) {
      new InMemoryStateSchemaProvider(
        StateSchemaMetadata.createStateSchemaMetadata(
          new Path(root, "state").toString,
          hadoop,
          schemaFiles.toList
        )
      )
    }

  /** A family as the provider of this project describes it. */
  def described(family: SourceFamily, evolving: Option[StateSchemaProvider]): FamilySchema =
    FamilySchema(
      family.name,
      family.keySchema,
      family.valueSchema,
      family.spec,
      family.multiValued,
      family.isInternal,
      evolving
    )
}

private[bucketstate] object SourceStore {

  /** What the default family is taken for where all is kept in others. */
  def unused(family: SourceFamily): SourceFamily = family.copy(
    schema = family.schema.copy(colFamilyName = StateStore.DEFAULT_COL_FAMILY_NAME),
    spec = NoPrefixKeyStateEncoderSpec(family.keySchema),
    multiValued = false,
    isInternal = false
  )
}
