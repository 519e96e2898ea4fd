package io.bucketstate.checkpoint.manifest

import java.util.UUID

import io.bucketstate.checkpoint.io.{Attempt, Damage}

/**
 * What the files of a database hold that were left on a local disk for a later process: a version of a store.
 *
 * @param commitId     of the version
 * @param numBuckets   of the store
 * @param hashFunction that places keys in them
 * @param files        all that belongs to it, but for the file that says so
 */
final case class LocalState(
    attempt: Attempt,
    commitId: UUID,
    numBuckets: Int,
    hashFunction: String,
    families: Seq[ManifestFamily],
    files: Seq[LocalStateFile]
) {
  def version: Long = attempt.version
}

/**
 * @param checksum CRC32C of its bytes, None where its blocks have checksums of their own
 */
final case class LocalStateFile(name: String, bytes: Long, checksum: Option[Int])

/**
 * A [[LocalState]] as bytes: JSON, sealed as a manifest is. It is of use on one machine only, and only until the next
 * one replaces it, so there is one format version, and what is of another is ignored by whoever finds it.
 */
object LocalStateFormat {
  private val Name = "bucketstate-local-state"
  private val Version = 1

  def encode(state: LocalState): Array[Byte] = {
    val root = ManifestFormat.bodyOf(Name, Version)
    root.put("version", state.version).put("commitId", state.commitId.toString)
    state.attempt.checkpointId.foreach(root.put("checkpointId", _))
    root.put("numBuckets", state.numBuckets).put("hashFunction", state.hashFunction)
    ManifestJson.families(state.families, root)
    val files = root.putArray("files")
    state.files.foreach { file =>
      val to = files.addObject().put("name", file.name).put("bytes", file.bytes)
      file.checksum.foreach(crc => to.put("checksum", ManifestJson.checksum(crc)))
    }
    ManifestFormat.seal(root)
  }

  /**
   * Throws `CorruptException`, which names the file.
   *
   * @param path of the file that the bytes are from
   */
  def decode(bytes: Array[Byte], path: String): LocalState = {
    val damage = new Damage(path, "what a local database holds")
    val json = ManifestFormat.unseal(bytes, Name, Version, damage)
    LocalState(
      Attempt(json.long("version"), json.optional("checkpointId")(_.text(_))),
      json.uuid("commitId"),
      json.int("numBuckets"),
      json.text("hashFunction"),
      ManifestJson.families(json),
      json.objects("files").map { file =>
        val checksum = file.optional("checksum")((node, _) => ManifestJson.checksum(node))
        LocalStateFile(plain(file.text("name"), damage), file.long("bytes"), checksum)
      }
    )
  }

  /** Files are linked, copied and deleted by these names: none leads out of the folder. */
  private def plain(name: String, damage: Damage): String = {
    val isPlain = name.nonEmpty && name != "." && name != ".." && name.forall(c =>
      c > ' ' && c != '/' && c != '\\' && c != ':'
    )
    if (isPlain) name else throw damage(s"'$name' is not the name of a file in its folder")
  }
}
