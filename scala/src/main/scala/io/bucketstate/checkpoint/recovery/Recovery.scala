package io.bucketstate.checkpoint.recovery

import scala.annotation.tailrec

import org.slf4j.LoggerFactory

import io.bucketstate.checkpoint.changelog.{ChangelogReader, Lineage, MissingChangelog}
import io.bucketstate.checkpoint.io.{
  Attempt,
  ChangelogName,
  CheckpointFile,
  CheckpointFiles,
  Damage,
  FileStore,
  ListedFile,
  ManifestName
}
import io.bucketstate.checkpoint.manifest.{Checkpoint, Manifest, Manifests, RepairRules}
import io.bucketstate.checkpoint.run.LocalRuns
import io.bucketstate.error.{BucketstateException, CorruptException, MissingException}
import io.bucketstate.table.{StateTable, StateTables, TableHost}

/**
 * Carries out a [[RecoveryPlan]]: finds the newest manifest that leads to a version and the changelogs
 * after it, and makes a table of them. Only reads. Thread-safe.
 *
 * @param host        of the tables
 * @param prepare     called with each table before it is handed out: loads it, if that is to be done at once
 * @param sharesNames whether all attempts at a version write one name, so that whoever commits has to know which are taken
 */
final class Recovery(
    checkpoint: Checkpoint,
    rules: RepairRules,
    host: TableHost = TableHost.Plain,
    prepare: StateTable => Unit = _ => (),
    sharesNames: Boolean = false
) {
  import Recovery._
  import checkpoint.{buckets, families, folder, trust}

  private[this] val log = LoggerFactory.getLogger(classOf[Recovery])
  private[this] val manifests = new Manifests(folder)
  private[this] val versions = new VersionFiles(checkpoint, host)

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
    val after = Lineage.of(folder, target)(_.version <= snapshot.version)
    if (after.base != snapshot) {
      throw Lineage.corrupt(
        folder,
        target,
        s"expected version ${target.version} with the checkpoint id ${target.idText} to be " +
          s"built on version ${snapshot.version} with the checkpoint id ${snapshot.idText}, " +
          s"found it built on ${after.base.idText}"
      )
    }
    bring(target, snapshot)
  }

  /** @param latest manifests above this are of no use */
  private def bring(target: Attempt, latest: Attempt): Recovered =
    if (target.version == 0) {
      Lineage.of(folder, target)(_ => false)
      lazy val there = Listed(folder)
      // Batches may have been tried before, though none counts. Only an object store can refuse what is taken.
      val writtenUpTo = if (sharesNames && folder.isObjectStore) there.newestChangelog else 1L
      Recovered(
        StateTables.heap(
          buckets.assigner(there.files),
          0L,
          families.initial,
          host = host,
          countsExactly = families.countsExactly
        ),
        writtenUpTo = writtenUpTo
      )
    } else {
      val there = Listed(folder)
      val all = there.manifests.filter(_.version <= latest.version)
      val (trusted, distrusted) = all.partition(trust.isTrusted(_, rules))
      val plan = RecoveryPlan.to(
        target.version,
        trusted.map(_.version),
        distrusted.map(_.version),
        rules.maxChangelogsToReplay,
        there.changelogs
      )
      try requireRightlyReplaced(follow(plan, target, there, last = None, Vector.empty), distrusted)
      catch {
        // What is missing is so because something else was damaged, which is not looked at again.
        case e: MissingException if distrusted.nonEmpty =>
          throw firstOf(distrusted.flatMap(trust.causeOf) :+ e)
      }
    }

  /**
   * What replaced a version is not taken for it where its manifest cannot be had: that may have been all there was of the
   * version, and then the changelog is of an attempt that was given up before, and leads to another state.
   */
  private def requireRightlyReplaced(
      recovered: Recovered,
      distrusted: Seq[ManifestName]
  ): Recovered = {
    val tried =
      recovered.passed.filter(_.reason != PassReason.Stale).map(p => p.manifest -> p.cause)
    val lost = tried ++ distrusted.flatMap(m => trust.causeOf(m).map(m -> _))
    val causes = lost.collect { case (m, cause) if recovered.replaced.contains(m.version) => cause }
    if (causes.nonEmpty) throw firstOf(causes)
    recovered
  }

  @tailrec
  private def follow(
      plan: RecoveryPlan,
      target: Attempt,
      there: Listed,
      last: Option[Long],
      passed: Vector[PassedOver]
  ): Recovered = plan.next(last, passed) match {
    case None if passed.isEmpty =>
      new MissingChangelog(folder).explained(target, target)(throw nothingLeadsTo(target))
    case None       => throw firstOf(passed.map(_.cause))
    case Some(base) =>
      from(base, target, there, passed) match {
        case Some(Right(recovered)) =>
          recovered.copy(
            repaired = plan.repairs(base, passed),
            passed = passed,
            writtenUpTo = there.newestChangelog
          )
        case Some(Left(one)) => follow(plan, target, there, Some(base), passed :+ one)
        case None            => follow(plan, target, there, Some(base), passed)
      }
  }

  /** From a version's manifest, as often as the rules allow; None if there is none of this history. */
  private def from(
      base: Long,
      target: Attempt,
      there: Listed,
      passed: Seq[PassedOver]
  ): Option[Either[PassedOver, Recovered]] = {
    val lineage =
      try Lineage.of(folder, target)(_.version <= base)
      catch {
        // What would lead further back is gone: what was passed over is what the version is lost by.
        case e: MissingException if passed.nonEmpty =>
          throw firstOf(passed.map(_.cause) :+ e)
      }
    val file = ManifestName(lineage.base)
    if (base == 0) Some(Right(ready(versions.open(target, None, lineage, there.lengths, _ => ()))))
    else Option.when(there.manifests.contains(file))(trying(target, file, lineage, there))
  }

  @tailrec
  private def trying(
      target: Attempt,
      file: ManifestName,
      lineage: Lineage,
      there: Listed
  ): Either[PassedOver, Recovered] = restore(target, file, lineage, there) match {
    case Left(PassedOver(_, PassReason.Damaged, cause)) if !rules.enabled => throw cause
    case Left(PassedOver(_, PassReason.Damaged, cause)) if trust.isTrusted(file, rules) =>
      log.warn(s"${file.name} in ${folder.location} could not be loaded, it is tried again", cause)
      trying(target, file, lineage, there)
    case Left(passed) =>
      log.warn(
        s"${file.name} in ${folder.location} is passed over: ${passed.reason.name}",
        passed.cause
      )
      Left(passed)
    case recovered => recovered
  }

  private def restore(
      target: Attempt,
      file: ManifestName,
      lineage: Lineage,
      there: Listed
  ): Either[PassedOver, Recovered] = {
    var cannotBeRead = false
    def onDamage(cause: BucketstateException): Unit = {
      cannotBeRead = true
      trust.failed(file, cause)
    }
    def passed(reason: PassReason, cause: BucketstateException) =
      Left(PassedOver(file, reason, cause))
    try {
      val manifest =
        try manifests.read(file, there.lengths.get(file.name))
        catch {
          case e: CorruptException if !e.isNewer =>
            onDamage(e)
            throw e
          case e: MissingException =>
            onDamage(e)
            throw e
        }
      missingFile(manifest, there).map(passed(PassReason.Gone, _)) orElse
        trust.damageIn(manifest, rules).orElse(cutFile(manifest, there)).map { cause =>
          onDamage(cause)
          passed(PassReason.Damaged, cause)
        } orElse
        replaced(manifest, lineage, there).map(passed(PassReason.Stale, _)) getOrElse
        Right(ready(versions.open(target, Some(manifest), lineage, there.lengths, onDamage(_))))
    } catch {
      // No doubt about the manifest, and nothing that it could be tried again for: all is listed each time.
      case e: MissingException if cannotBeRead     => passed(PassReason.Gone, e)
      case e: BucketstateException if cannotBeRead => passed(PassReason.Damaged, e)
    }
  }

  private def missingFile(manifest: Manifest, there: Listed): Option[MissingException] =
    manifest.fileNames.find(name => !there.dataFiles.contains(name)).map { name =>
      new MissingException(
        s"${folder.location}/$name",
        s"${manifest.file.name} needs it",
        s"Restore it from a backup, or delete ${manifest.file.name} if older manifests are there."
      )
    }

  /** Found before a batch is under way, which would fail by it. */
  private def cutFile(manifest: Manifest, there: Listed): Option[CorruptException] =
    manifest.runs.iterator
      .flatMap(_.files)
      .flatMap { file =>
        def damage = LocalRuns.damageOf(file, s"${folder.location}/${file.name}")
        there.dataFiles.get(file.name).flatMap(LocalRuns.wrongLength(file, _, damage))
      }
      .nextOption()

  /**
   * Without checkpoint ids a manifest is stale once a retry has replaced the version it is of. One with an id is of the
   * attempt that its name says, and nothing else is looked at.
   */
  private def replaced(
      manifest: Manifest,
      lineage: Lineage,
      there: Listed
  ): Option[CorruptException] = {
    val own = manifest.attempt
    val (checked, holds) = lineage.changelogs.lastOption match {
      case _ if own.checkpointId.isDefined => own -> true
      case Some(next) => next -> manifest.isBaseOf(ChangelogReader.readHeader(folder, next))
      case None       =>
        own -> (!there.lengths.contains(own.changelog) ||
          manifest.covers(ChangelogReader.readHeader(folder, own)))
    }
    Option.when(!holds) {
      Lineage.corrupt(
        folder,
        checked,
        s"it does not belong to what ${manifest.file.name} holds: version ${manifest.version} was " +
          "replaced after that was written"
      )
    }
  }

  private def ready(recovered: Recovered): Recovered = {
    prepare(recovered.table)
    recovered
  }

  private def firstOf(failures: Seq[BucketstateException]): Throwable = {
    val first = failures.head
    failures.distinct.filter(_ ne first).foreach(first.addSuppressed)
    first
  }

  private def nothingLeadsTo(target: Attempt) =
    new MissingException(
      s"${folder.location}/${target.changelog}",
      s"no manifest leads to version ${target.version}, and the changelogs do not reach back to the first " +
        "version",
      Damage.Remedy
    )
}

private object Recovery {

  /** What lies in the store's folders. */
  private final class Listed(val files: Seq[ListedFile], list: => Seq[ListedFile]) {
    private val named: Seq[CheckpointFile] = files.flatMap(file => CheckpointFiles.parse(file.name))
    val lengths: Map[String, Long] = files.iterator.map(file => file.name -> file.length).toMap
    val manifests: Seq[ManifestName] = named.collect { case m: ManifestName => m }
    val changelogs: Set[Long] = named.iterator.collect { case c: ChangelogName => c.version }.toSet

    /** The highest version that has one, or 0. */
    def newestChangelog: Long = changelogs.maxOption.getOrElse(0L)

    /** Lengths by name. */
    lazy val dataFiles: Map[String, Long] =
      list.iterator.map(file => file.name -> file.length).toMap
  }

  private object Listed {
    def apply(folder: FileStore): Listed =
      new Listed(folder.list(), folder.list(CheckpointFiles.RunFolder))
  }
}
