package io.bucketstate.checkpoint.manifest

import java.util.UUID

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.bucketstate.checkpoint.io.Damage
import io.bucketstate.checkpoint.run.{BucketSpan, Run, RunFile, TimeSpan, VersionSpan}
import io.bucketstate.record.{FamilyDescriptor, TimeBuckets, TimedValue}

/** The members of a manifest's JSON, written and read side by side. */
private[checkpoint] object ManifestJson {
  private val Crc = "crc32c:"

  def write(m: Manifest, to: ObjectNode): Unit = {
    to.put("storeId", m.storeId).put("version", m.version)
    m.commitId.foreach(id => to.put("commitId", id.toString))
    m.checkpointId.foreach(to.put("checkpointId", _))
    m.baseCheckpointId.foreach(to.put("baseCheckpointId", _))
    to.put("numBuckets", m.numBuckets).put("hashFunction", m.hashFunction)
    m.nextFamily.foreach(to.put("nextFamily", _))
    families(m.families, to)
    val runs = to.putArray("runs")
    m.runs.foreach(write(_, runs.addObject()))
  }

  def manifest(json: Reader): Manifest = Manifest(
    storeId = json.text("storeId"),
    version = json.long("version"),
    commitId = json.optional("commitId")(_.uuid(_)),
    checkpointId = json.optional("checkpointId")(_.text(_)),
    baseCheckpointId = json.optional("baseCheckpointId")(_.text(_)),
    numBuckets = json.int("numBuckets"),
    hashFunction = json.text("hashFunction"),
    nextFamily = json.optional("nextFamily")(_.int(_)),
    families = families(json),
    runs = json.objects("runs").map(run)
  )

  def families(all: Seq[ManifestFamily], to: ObjectNode): Unit = {
    val families = to.putArray("families")
    all.foreach(write(_, families.addObject()))
  }

  def families(json: Reader): Seq[ManifestFamily] = json.objects("families").map(family)

  private def write(f: ManifestFamily, to: ObjectNode): Unit = {
    val d = f.descriptor
    to.put("id", d.id).put("name", d.name)
    to.put("keyEncoding", d.keyEncoding).put("valueEncoding", d.valueEncoding)
    if (d.isInternal) to.put("internal", true)
    f.keySchema.foreach(to.put("keySchema", _))
    f.valueSchema.foreach(to.put("valueSchema", _))
    f.keyCount.foreach(to.put("keyCount", _))
    f.lastCount.foreach { last =>
      to.putObject("lastCount").put("version", last.version).put("keys", last.keys)
    }
    f.times.foreach(write(_, to.putObject("timeBuckets")))
  }

  private def family(json: Reader): ManifestFamily = ManifestFamily(
    FamilyDescriptor(
      json.int("id"),
      json.text("name"),
      json.text("keyEncoding"),
      json.text("valueEncoding"),
      json.optional("internal")(_.flag(_)).getOrElse(false)
    ),
    json.optional("keyCount")(_.long(_)),
    json.optional("keySchema")(_.text(_)),
    json.optional("valueSchema")(_.text(_)),
    json.optional("timeBuckets")(_.nested(_)).map(times),
    json
      .optional("lastCount")(_.nested(_))
      .map(last => KeysAt(last.long("version"), last.long("keys")))
  )

  private def write(times: TimeBuckets, to: ObjectNode): Unit = {
    if (times.newest != TimeBuckets.NoTime) to.put("newest", times.newest)
    to.put("horizon", times.horizon)
    if (times.untimed != TimedValue.Never) to.put("untimed", times.untimed)
    to.put("untimedKeys", times.untimedKeys)
    val keys = to.putArray("keys")
    times.keys.foreachEntry((start, n) => keys.addObject().put("start", start).put("keys", n))
  }

  private def times(json: Reader): TimeBuckets = {
    val keys = json.objects("keys").map(b => b.long("start") -> b.long("keys"))
    if (keys.lazyZip(keys.drop(1)).exists(_._1 >= _._1))
      throw json.bad("keys", "time buckets in ascending order, each once,")
    TimeBuckets(
      json.optional("newest")(_.long(_)).getOrElse(TimeBuckets.NoTime),
      json.long("horizon"),
      json.optional("untimed")(_.long(_)).getOrElse(TimedValue.Never),
      json.long("untimedKeys"),
      keys.to(SortedMap)
    )
  }

  private def write(run: Run, to: ObjectNode): Unit = {
    to.put("firstVersion", run.versions.first).put("lastVersion", run.versions.last)
    val files = to.putArray("files")
    run.files.foreach(write(_, files.addObject()))
  }

  private def run(json: Reader): Run =
    Run(
      VersionSpan(json.long("firstVersion"), json.long("lastVersion")),
      json.objects("files").map(file)
    )

  private def write(f: RunFile, to: ObjectNode): Unit = {
    to.put("name", f.name).put("bytes", f.bytes)
    to.put("entries", f.entries).put("tombstones", f.tombstones)
    to.put("checksum", checksum(f.checksum))
    f.times.foreach(t => to.put("firstTimeBucket", t.first).put("lastTimeBucket", t.last))
    val buckets = to.putArray("buckets")
    f.buckets.foreach { b =>
      buckets.addObject().put("family", b.family).put("first", b.first).put("last", b.last)
    }
  }

  private def file(json: Reader): RunFile = RunFile(
    name = json.text("name"),
    bytes = json.long("bytes"),
    entries = json.long("entries"),
    tombstones = json.long("tombstones"),
    buckets =
      json.objects("buckets").map(b => BucketSpan(b.int("family"), b.int("first"), b.int("last"))),
    checksum = checksum(json),
    times =
      json.optional("firstTimeBucket")(_.long(_)).map(TimeSpan(_, json.long("lastTimeBucket")))
  )

  def checksum(crc: Int): String = Crc + f"$crc%08x"

  def checksum(json: Reader): Int = {
    val text = json.text("checksum")
    if (!text.matches(Crc + "[0-9a-f]{8}")) throw json.bad("checksum", s"'$Crc' and 8 hex digits")
    Integer.parseUnsignedInt(text.drop(Crc.length), 16)
  }

  /** Takes members of one object; what is not there, or not of its kind, is damage. */
  final class Reader(node: JsonNode, damage: Damage) {
    def text(name: String): String =
      if (member(name).isTextual) member(name).textValue else throw bad(name, "a string")

    def flag(name: String): Boolean =
      if (member(name).isBoolean) member(name).booleanValue else throw bad(name, "true or false")

    def uuid(name: String): UUID =
      Try(UUID.fromString(text(name))).getOrElse(throw bad(name, "a UUID"))

    def long(name: String): Long =
      if (member(name).canConvertToLong && member(name).isIntegralNumber) member(name).longValue
      else throw bad(name, "a whole number of 64 bits")

    def int(name: String): Int =
      if (member(name).canConvertToInt && member(name).isIntegralNumber) member(name).intValue
      else throw bad(name, "a whole number of 32 bits")

    def objects(name: String): Seq[Reader] =
      if (!member(name).isArray) throw bad(name, "an array")
      else member(name).elements.asScala.map(new Reader(_, damage)).toVector

    def nested(name: String): Reader =
      if (member(name).isObject) new Reader(member(name), damage) else throw bad(name, "an object")

    def optional[A](name: String)(read: (Reader, String) => A): Option[A] =
      if (node.has(name)) Some(read(this, name)) else None

    def bad(name: String, expected: String): Exception =
      damage(s"expected $expected as '$name', found ${node.path(name)}")

    private def member(name: String): JsonNode = {
      val found = if (node == null) null else node.get(name)
      if (found == null) throw damage(s"expected a member '$name', found none")
      found
    }
  }
}
