package io.bucketstate.checkpoint.recovery

import org.slf4j.LoggerFactory

import io.bucketstate.bucket.BucketAssigner
import io.bucketstate.checkpoint.changelog.{ChangelogReader, Lineage}
import io.bucketstate.checkpoint.io.{
  Attempt,
  ChangelogName,
  CheckpointFile,
  CheckpointFiles,
  Damage,
  FileStore,
  ManifestName
}
import io.bucketstate.checkpoint.manifest.{Manifest, ManifestTrust, Manifests, RepairRules}
import io.bucketstate.checkpoint.records.KnownFamilies
import io.bucketstate.checkpoint.run.RunAccess
import io.bucketstate.error.{BucketstateException, CorruptException, MissingException}
import io.bucketstate.table.{LoadHost, StateTable, StateTables}

/**
 * Carries out a [[RecoveryPlan]]: finds the newest manifest that leads to a version and the changelogs
 * after it, and makes a table of them. Only reads. Thread-safe.
 *
 * @param host    of the tables
 * @param prepare called with each table before it is handed out: loads it, if that is to be done at once
 */
final class Recovery(
    store: FileStore,
    assigner: BucketAssigner,
    families: KnownFamilies,
    runs: RunAccess,
    rules: RepairRules,
    host: LoadHost = LoadHost.Plain,
    prepare: StateTable => Unit = _ => ()
) {
  import Recovery._

  private[this] val log = LoggerFactory.getLogger(classOf[Recovery])
  private[this] val manifests = new Manifests(store)
  private[this] val trust = new ManifestTrust(rules)
  private[this] val versions = new VersionFiles(store, assigner, families, runs, host)

  /**
   * The state at `version`, 0 being the empty store.
   *
   * @param checkpointId tells attempts at the version apart; None for one that was written without
   */
  def load(version: Long, checkpointId: Option[String]): Recovered = {
    val target = Attempt(version, checkpointId)
    bring(target, target)
  }

  /**
   * The state at `target`, by way of the state at `snapshot` as the checkpoint gives it: whatever that
   * is restored from, the changelogs after it are replayed. That there is no snapshot file of just that
   * version is no error.
   */
  def loadFrom(snapshot: Attempt, target: Attempt): Recovered = {
    val after = Lineage.of(store, target)(_.version <= snapshot.version)
    if (after.base != snapshot) {
      throw Lineage.corrupt(
        store,
        target,
        s"expected version ${target.version} with the checkpoint id ${target.idText} to be " +
          s"built on version ${snapshot.version} with the checkpoint id ${snapshot.idText}, " +
          s"found it built on ${after.base.idText}"
      )
    }
    bring(target, snapshot)
  }

  /** A manifest was written that may have had a damaged namesake. */
  def renewed(manifest: Manifest): Unit = trust.renewed(manifest.file)

  /** @param latest manifests above this are of no use */
  private def bring(target: Attempt, latest: Attempt): Recovered =
    if (target.version == 0) {
      Lineage.of(store, target)(_ => false)
      Recovered(StateTables.heap(assigner, 0L, families.initial))
    } else {
      val there = Listed(store)
      val all = there.manifests.filter(_.version <= latest.version)
      val (trusted, failed) = all.partition(trust.isTrusted)
      val plans = RecoveryPlan
        .candidates(target.version, trusted.map(_.version), Int.MaxValue, there.changelogs)
      var passed = List.empty[NotThisOne]
      var found: Option[Recovered] = None
      plans.iterator.map(_.base).takeWhile(_ => found.isEmpty).foreach { base =>
        val repaired = failed.map(_.version).filter(_ > base).distinct.size
        val repairs = repaired + passed.count(_.isDamaged)
        if (repairs == 0 || target.version - base <= rules.maxChangelogsToReplay) {
          try found = from(base, target, there).map(_.copy(repaired = repairs))
          catch { case one: NotThisOne => passed ::= one }
        }
      }
      found.getOrElse(throw firstOf(passed.reverse.map(_.reason), target))
    }

  /** From a version's manifest, as often as the rules allow; None if there is none of this history. */
  private def from(base: Long, target: Attempt, there: Listed): Option[Recovered] = {
    val lineage = Lineage.of(store, target)(_.version <= base)
    val file = ManifestName(lineage.base)
    if (base == 0) Some(ready(versions.open(target, None, lineage, there.lengths, () => ())))
    else if (!there.manifests.contains(file)) None
    else {
      var recovered: Option[Recovered] = None
      while (recovered.isEmpty)
        try recovered = Some(restore(target, file, lineage, there))
        catch {
          case Damaged(reason) if !rules.enabled => throw reason
          case Damaged(reason)                   =>
            log.warn(s"${file.name} in ${store.location} could not be loaded", reason)
            if (!trust.isTrusted(file)) throw NotThisOne(reason, isDamaged = true)
        }
      recovered
    }
  }

  private def restore(
      target: Attempt,
      file: ManifestName,
      lineage: Lineage,
      there: Listed
  ): Recovered = {
    val manifest =
      try manifests.read(file)
      catch {
        case e: BucketstateException if isDamage(e) =>
          trust.failed(file)
          throw Damaged(e)
      }
    manifest.fileNames.find(name => !there.dataFiles(name)).foreach { name =>
      throw passingOver(
        file,
        s"it needs $name, which is gone",
        new MissingException(
          s"${store.location}/$name",
          s"${file.name} needs it",
          s"Restore it from a backup, or delete ${file.name} if older manifests are there."
        )
      )
    }
    requireCurrent(manifest, lineage, there)
    var damaged = false
    val onDamage = () => {
      damaged = true
      trust.failed(file)
    }
    val recovered = versions.open(target, Some(manifest), lineage, there.lengths, onDamage)
    try ready(recovered)
    catch { case e: BucketstateException if damaged => throw Damaged(e) }
  }

  /** With checkpoint format 1, a manifest is stale once a retry has replaced the version it is of. */
  private def requireCurrent(manifest: Manifest, lineage: Lineage, there: Listed): Unit = {
    val own = manifest.attempt
    val (checked, holds) = lineage.changelogs.lastOption match {
      case Some(next) => next -> manifest.isBaseOf(ChangelogReader.readHeader(store, next))
      case None       =>
        own -> (!there.lengths.contains(own.changelog) ||
          manifest.covers(ChangelogReader.readHeader(store, own)))
    }
    if (!holds) {
      throw passingOver(
        manifest.file,
        s"version ${manifest.version} was written again after it",
        Lineage.corrupt(
          store,
          checked,
          s"it does not belong to what ${manifest.file.name} holds: version ${manifest.version} was " +
            "replaced after that was written"
        )
      )
    }
  }

  private def ready(recovered: Recovered): Recovered = {
    prepare(recovered.table)
    recovered
  }

  private def passingOver(
      file: ManifestName,
      why: String,
      reason: BucketstateException
  ) = {
    log.warn(s"${file.name} in ${store.location} is passed over: $why")
    NotThisOne(reason, isDamaged = false)
  }

  private def isDamage(e: BucketstateException): Boolean = e match {
    case _: CorruptException | _: MissingException => true
    case _                                         => false
  }

  private def firstOf(failures: Seq[BucketstateException], target: Attempt): Throwable =
    failures.headOption match {
      case Some(first) =>
        failures.tail.filter(_ ne first).foreach(first.addSuppressed)
        first
      case None =>
        new MissingException(
          s"${store.location}/${target.changelog}",
          s"no manifest leads to version ${target.version}, and the changelogs do not reach back to " +
            "the first version",
          Damage.Remedy
        )
    }
}

private object Recovery {

  /** Why a manifest cannot be used, and an older one is to be tried. */
  private final case class NotThisOne(reason: BucketstateException, isDamaged: Boolean)
      extends RuntimeException(reason)

  /** Damage that an older manifest can stand in for, where that is allowed. */
  private final case class Damaged(reason: BucketstateException) extends RuntimeException(reason)

  /** What lies in the store's folders. */
  private final class Listed(
      val lengths: Map[String, Long],
      files: Seq[CheckpointFile],
      list: => Set[String]
  ) {
    val manifests: Seq[ManifestName] =
      files.collect { case m: ManifestName => m }
    val changelogs: Set[Long] = files.iterator.collect { case c: ChangelogName => c.version }.toSet
    lazy val dataFiles: Set[String] = list
  }

  private object Listed {
    def apply(store: FileStore): Listed = {
      val lengths = store.list().iterator.map(file => file.name -> file.length).toMap
      def data = store.list(CheckpointFiles.RunFolder).iterator.map(_.name).toSet
      new Listed(lengths, lengths.keys.toSeq.flatMap(CheckpointFiles.parse), data)
    }
  }
}
