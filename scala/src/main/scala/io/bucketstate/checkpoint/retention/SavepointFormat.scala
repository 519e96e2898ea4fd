package io.bucketstate.checkpoint.retention

import scala.util.matching.Regex

import io.bucketstate.checkpoint.io.{Attempt, Damage}
import io.bucketstate.checkpoint.manifest.{ManifestFormat, ManifestJson}
import io.bucketstate.error.InvalidException

/**
 * A savepoint's file: JSON, sealed as a manifest is. It is written in Python; here it is read, as far as retention has to
 * know it. Its name has a UUID of its own, so that a file of one name has one content for ever:
 *
 * {{{
 *   <name>.<uuid>.json
 * }}}
 */
private[retention] object SavepointFormat {
  private val Format = "bucketstate-savepoint"
  private val Version = 1

  private val FileName: Regex =
    "([A-Za-z0-9][A-Za-z0-9_.-]{0,63})\\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\\.json".r

  /**
   * Whether a file of the folder is to be one, if only by the end of its name: what may be one is not passed over.
   * Writes that are under way begin with a dot.
   */
  def mayBeOne(file: String): Boolean = file.endsWith(".json") && !file.startsWith(".")

  /**
   * Throws `CorruptException`, which names the file.
   *
   * @param file its name
   * @param path where it is
   */
  def decode(bytes: Array[Byte], file: String, path: String): Savepoint = {
    val damage = new Damage(path, "savepoint", Remedy)
    val named = file match {
      case FileName(found) => found
      case _               => throw damage("expected the name <name>.<uuid>.json")
    }
    val json = ManifestFormat.unseal(bytes, Format, Version, damage)
    val name = json.text("name")
    if (name != named) throw damage.mismatch("name", named, name)
    val batch = json.long("batch")
    if (batch < 0 || batch == Long.MaxValue) throw damage(s"there is no batch $batch")
    Savepoint(name, batch, json.objects("stores").map(store(_, batch + 1, damage)).toMap)
  }

  private def store(
      json: ManifestJson.Reader,
      version: Long,
      damage: Damage
  ): (StoreOfQuery, Attempt) = {
    val store = StoreOfQuery(json.long("operator"), json.int("partition"), json.text("store"))
    val id = json.optional("checkpointId")(_.text(_))
    try store -> Attempt(version, id)
    catch { case e: InvalidException => throw damage(e.what, e) }
  }

  private val Remedy =
    "It holds versions of the state that cannot be told, so nothing is deleted from this checkpoint. Drop it with " +
      "`bucketstate savepoint drop`, or restore the file."
}
