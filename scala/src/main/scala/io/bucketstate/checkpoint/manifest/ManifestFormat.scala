package io.bucketstate.checkpoint.manifest

import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.core.util.{DefaultIndenter, DefaultPrettyPrinter}
import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.{ObjectMapper, ObjectWriter}

import io.bucketstate.checkpoint.io.{Damage, LittleEndian}
import io.bucketstate.error.InvalidException

/**
 * A manifest as bytes, format versions 1 and 2: a JSON object in UTF-8 whose last member is its checksum, in
 * exactly these characters, so that the bytes the checksum is of can be told without knowing JSON:
 *
 * {{{
 *   file := body | ",\n  \"checksum\" : \"crc32c:" | 8 lower-case hex digits (CRC32C of body) | "\"\n}\n"
 * }}}
 *
 * A reader ignores members that it does not know: a later bucketstate may add what can be ignored
 * without harm under the same version. What cannot be ignored gets a new version, which is refused.
 */
private[checkpoint] object ManifestFormat {
  val Name = "bucketstate-manifest"

  /** The format version of a store none of whose families is timed. */
  val Plain = 1

  /** The format version of a store that has a timed family; the newest there is. */
  val Timed = 2

  private val TailStart = ",\n  \"checksum\" : \"crc32c:"
  private val TailEnd = "\"\n}\n"
  private val TailLength = TailStart.length + 8 + TailEnd.length

  private val mapper = new ObjectMapper
  // A restart only reads.
  private lazy val writer: ObjectWriter = {
    val indenter = new DefaultIndenter("  ", "\n")
    val printer = new DefaultPrettyPrinter()
    printer.indentObjectsWith(indenter)
    printer.indentArraysWith(indenter)
    mapper.writer(printer)
  }

  def encode(manifest: Manifest): Array[Byte] = {
    val broken = ManifestInvariants.broken(manifest)
    if (broken.nonEmpty) {
      throw new InvalidException(
        s"The manifest ${manifest.file.name} of store ${manifest.storeId} was not written, because " +
          s"it is not true that ${broken.mkString(", that ")}",
        "This is a defect of bucketstate; please report it. The changelogs keep the state safe."
      )
    }
    val root = bodyOf(Name, formatOf(manifest))
    ManifestJson.write(manifest, root)
    seal(root)
  }

  private def formatOf(manifest: Manifest): Int =
    if (manifest.times.nonEmpty) Timed else Plain

  /** The bytes of an object, with its checksum. */
  def seal(body: ObjectNode): Array[Byte] = {
    val json = writer.writeValueAsString(body).stripSuffix("}").stripSuffix("\n")
    val bytes = json.getBytes(UTF_8)
    bytes ++ tail(LittleEndian.crc(bytes, 0, bytes.length)).getBytes(UTF_8)
  }

  def decode(bytes: Array[Byte], damage: Damage): Manifest = {
    val json = unseal(bytes, Name, Timed, damage)
    val manifest = ManifestJson.manifest(json)
    val broken = ManifestInvariants.broken(manifest)
    if (broken.nonEmpty) throw damage(s"it is not true that ${broken.mkString(", that ")}")
    manifest
  }

  /** What was sealed, as the format of that name has it; none of a newer version than this. */
  def unseal(bytes: Array[Byte], name: String, newest: Int, damage: Damage): ManifestJson.Reader = {
    val tree = damage.guard("JSON") {
      try mapper.readTree(bytes)
      catch { case e: java.io.IOException => throw new IllegalArgumentException(e) }
    }
    val json = new ManifestJson.Reader(tree, damage)
    if (json.text("format") != name) throw damage.mismatch("format", name, json.text("format"))
    // Before the checksum: a newer format may have it elsewhere.
    val format = json.int("formatVersion")
    if (format > newest) throw damage.newer(newest, format)
    if (format < Plain) throw damage.mismatch("format version", s"$Plain to $newest", format)
    verify(bytes, damage)
    json
  }

  /** An object that is to be sealed. */
  def bodyOf(name: String, version: Int): ObjectNode =
    mapper.createObjectNode().put("format", name).put("formatVersion", version)

  private def tail(crc: Int): String = TailStart + f"$crc%08x" + TailEnd

  private def verify(bytes: Array[Byte], damage: Damage): Unit = {
    val end = bytes.length - TailLength
    if (end <= 0) throw damage(s"expected more than $TailLength bytes, found ${bytes.length}")
    val found = new String(bytes, end, TailLength, UTF_8)
    val expected = tail(LittleEndian.crc(bytes, 0, end))
    if (found != expected) throw damage.mismatch("at the end", quoted(expected), quoted(found))
  }

  private def quoted(text: String): String =
    text.replace("\n", "\\n").map(c => if (Character.isISOControl(c)) '?' else c)
}
