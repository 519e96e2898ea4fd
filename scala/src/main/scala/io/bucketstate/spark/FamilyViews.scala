package io.bucketstate.spark

import java.util.HashMap
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.execution.streaming.state.{
  StateSchemaProvider,
  StateStore,
  StateStoreErrors
}

import io.bucketstate.checkpoint.records.FamilyEncodings
import io.bucketstate.error.InvalidException
import io.bucketstate.record.{BucketAssigner, FamilyDescriptor, RecordBuffer}
import io.bucketstate.table.{FamilyState, StateTable}

/**
 * What the query said of its column families: of a family that is only in the files nobody knows the
 * schemas yet. Thread-safe.
 *
 * @param default  of the family that every store has
 * @param multiple whether the query makes families of its own
 * @param ageing   how records of the default family age, where the query wants that
 */
private[spark] final class FamilyRegistry(
    val default: FamilySchema,
    val multiple: Boolean,
    val ageing: Option[Ageing] = None
) {
  private[this] val schemas = new ConcurrentHashMap[String, FamilySchema]

  register(default)

  def register(schema: FamilySchema): Unit = {
    schemas.put(schema.name, schema)
    ()
  }

  def of(name: String): Option[FamilySchema] = Option(schemas.get(name))
}

/**
 * The column families of one opened store by name, with the names checked as Spark's RocksDB provider
 * checks them. For one thread.
 *
 * @param version that is read; for a store that writes, the open one
 */
private[spark] final class FamilyViews(
    registry: FamilyRegistry,
    table: StateTable,
    version: Long,
    assigner: BucketAssigner
) {
  import FamilyViews._

  private[this] var default: FamilyView = _ // made when it is first used
  private[this] val others = new HashMap[String, FamilyView]
  private[this] val buffer = new RecordBuffer(assigner)

  /** @param operation for the words of an error */
  def of(name: String, operation: String): FamilyView =
    if (name == StateStore.DEFAULT_COL_FAMILY_NAME) {
      if (default == null) default = viewOf(name, operation)
      default
    } else {
      val known = others.get(name)
      if (known != null) known else other(name, operation)
    }

  def names: Set[String] = table.familiesAt(version).iterator.map(_.spec.name).toSet

  /** The schemas that Spark gave the store, which are those of the default family. */
  def schemas: Option[StateSchemaProvider] = registry.default.schemas

  /** Whether rows are held against the schema: only where there is one schema. */
  def isValidated: Boolean = !registry.multiple

  /** Adds a family to the open version unless it is there. */
  def create(schema: FamilySchema): Unit = {
    requireName("create_col_family", schema.name, schema.isInternal)
    find(schema.name) match {
      case Some(family) => requireSame(family.spec.descriptor, schema)
      case None         => add(schema)
    }
    know(schema)
  }

  /** Tells what a family is like, if the version has it. */
  def register(schema: FamilySchema): Unit = {
    requireName("register_col_family", schema.name, schema.isInternal)
    find(schema.name).foreach(family => requireSame(family.spec.descriptor, schema))
    know(schema)
  }

  private def know(schema: FamilySchema): Unit = {
    registry.register(schema)
    if (schema.name == StateStore.DEFAULT_COL_FAMILY_NAME) default = null
    else others.remove(schema.name)
    ()
  }

  /** Takes a family away from the open version; false if there was none. */
  def remove(name: String): Boolean = {
    requireName("remove_col_family", name, isInternal = false)
    others.remove(name)
    val found = find(name)
    found.foreach(family => table.removeFamily(family.spec.id))
    found.isDefined
  }

  private def add(schema: FamilySchema): Unit = {
    val id = table.nextFamily
    if (id > MaxNumber) {
      throw new InvalidException(
        s"The column family '${schema.name}' would be the store's ${id + 1}th, and numbers of those that " +
          "were removed are not used again",
        "Start from a new checkpoint location."
      )
    }
    table.family(FamilyEncodings.specOf("The query", schema.descriptor(id)))
    ()
  }

  private def other(name: String, operation: String): FamilyView = {
    if (!registry.multiple) {
      throw StateStoreErrors.unsupportedOperationException(operation, Disabled)
    }
    if (name.isEmpty || name.trim != name) {
      throw StateStoreErrors.cannotUseColumnFamilyWithInvalidName(operation, name)
    }
    val view = viewOf(name, operation)
    others.put(name, view)
    view
  }

  private def viewOf(name: String, operation: String): FamilyView = {
    val (family, schema) = find(name).zip(registry.of(name)).getOrElse {
      throw StateStoreErrors.unsupportedOperationOnMissingColumnFamily(operation, name)
    }
    requireSame(family.spec.descriptor, schema)
    new FamilyView(schema, family, buffer, registry.ageing)
  }

  private def find(name: String): Option[FamilyState] =
    table.familiesAt(version).find(_.spec.name == name)

  private def requireName(operation: String, name: String, isInternal: Boolean): Unit = {
    if (!registry.multiple) {
      throw StateStoreErrors.unsupportedOperationException(operation, Disabled)
    }
    val isDefault = name == StateStore.DEFAULT_COL_FAMILY_NAME
    if (name.isEmpty || name.trim != name || (isDefault && !isInternal)) {
      throw StateStoreErrors.cannotUseColumnFamilyWithInvalidName(operation, name)
    }
    if (!isInternal && name.charAt(0) == '$') {
      throw StateStoreErrors.cannotCreateColumnFamilyWithReservedChars(name)
    }
  }

  private def requireSame(stored: FamilyDescriptor, schema: FamilySchema): Unit = {
    val wanted = schema.descriptor(stored.id).copy(isInternal = stored.isInternal)
    if (wanted != FamilyEncodings.untimed(stored)) {
      throw new InvalidException(
        s"The checkpoint holds the column family $stored, the query now expects $wanted",
        "Restart with the query that wrote the checkpoint, or from a new checkpoint location."
      )
    }
  }
}

private[spark] object FamilyViews {
  private val Disabled = s"multiple column families is disabled in ${SparkErrors.Provider}"

  /** A run's key has so much room for it. */
  private final val MaxNumber = 0xffff
}
