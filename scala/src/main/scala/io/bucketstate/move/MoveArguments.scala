package io.bucketstate.move

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import io.bucketstate.error.InvalidException

/**
 * The words of a command as a request, as `spark-submit` hands them over.
 *
 * @param isDryRun whether the plan is all that is wanted
 * @param reads    whether a dry run reads the state
 * @param asJson   whether plan and report are for tools
 */
private[bucketstate] final case class MoveArguments(
    request: MoveRequest,
    isDryRun: Boolean,
    reads: Boolean,
    asJson: Boolean
)

private[bucketstate] object MoveArguments {

  val Usage: String =
    """import SRC DST, export SRC DST --to rocksdb|hdfs, rewrite SRC DST, rewrite CHECKPOINT --in-place --partitions N,
      |rewrite CHECKPOINT --in-place --undo, handover SRC DST --offsets options|FILE, upsert SRC DST --from PATH
      |  --batch N            a committed batch; the last one if it is left out
      |  --partitions N       of all operators with keys
      |  --buckets N          in each store of bucketstate
      |  --format 1|2         of checkpoints
      |  --delete-keys COND   a SQL condition on the columns of a grouping key
      |  --operator N         whose keys are left out, or given
      |  --offsets ...        where sources begin: 'options' for where their own options say, or a file with a line for each
      |  --from PATH          Parquet files with a row for each key that is given
      |  --source-provider P  bucketstate, rocksdb or hdfs, where the recorded class is not known
      |  --verify full|counts
      |  --in-place           the checkpoint itself gets other partitions, as a batch of its own
      |  --undo               with --in-place: takes that back
      |  --dry-run [--read]   print the plan; with --read, read and check all state
      |  --json               print plan and report as JSON""".stripMargin

  /** Throws `InvalidException` that says what is wrong with them. */
  def parse(words: Seq[String]): MoveArguments = {
    val (flags, paths) = split(words.drop(1).toList, Map.empty, Nil)
    val kind = words.headOption.flatMap(name => MoveKind.All.find(_.name == name)).getOrElse {
      throw invalid(s"'${words.headOption.getOrElse("")}' is no kind of move")
    }
    val inPlace = flags.contains("--in-place")
    val (source, target) = paths match {
      case Seq(one) if inPlace         => (one, "")
      case Seq(one, other) if !inPlace => (one, other)
      case _                           =>
        val wanted = if (inPlace) "A rewrite in place takes one path" else "A move takes two paths"
        throw invalid(s"$wanted, and ${paths.size} were given")
    }
    if (flags.contains("--undo"))
      throw invalid("--undo goes with 'rewrite', a path and --in-place alone")
    MoveArguments(
      MoveRequest(
        kind,
        source,
        target,
        flags.get("--batch").map(long("--batch", _)),
        flags.getOrElse("--to", "bucketstate"),
        flags.get("--partitions").map(int("--partitions", _)),
        flags.get("--buckets").map(int("--buckets", _)),
        flags.get("--format").map(int("--format", _)),
        flags.get("--delete-keys"),
        flags.get("--operator").map(long("--operator", _)),
        flags.get("--offsets").map(offsets),
        flags.get("--from"),
        flags.get("--source-provider"),
        flags.get("--verify").forall(MoveRequest.isFull),
        inPlace
      ),
      isDryRun = flags.contains("--dry-run"),
      reads = flags.contains("--read"),
      asJson = flags.contains("--json")
    )
  }

  /** The checkpoint whose rewrite in place is to be undone; None where that is not what is asked for. */
  def undoOf(words: Seq[String]): Option[String] = words match {
    case "rewrite" +: others if others.contains("--undo") && others.contains("--in-place") =>
      others.diff(Seq("--undo", "--in-place", "--json")) match {
        case Seq(path) if !path.startsWith("--") => Some(path)
        case _                                   => None
      }
    case _ => None
  }

  private val Switches = Set("--dry-run", "--read", "--json", "--in-place", "--undo")
  private val Values = Set(
    "--batch",
    "--to",
    "--partitions",
    "--buckets",
    "--format",
    "--delete-keys",
    "--operator",
    "--offsets",
    "--from",
    "--source-provider",
    "--verify"
  )

  @annotation.tailrec
  private def split(
      words: List[String],
      flags: Map[String, String],
      paths: Seq[String]
  ): (Map[String, String], Seq[String]) = words match {
    case Nil                                   => (flags, paths)
    case flag :: rest if Switches(flag)        => split(rest, flags + (flag -> ""), paths)
    case flag :: value :: rest if Values(flag) => split(rest, flags + (flag -> value), paths)
    case flag :: Nil if Values(flag)           => throw invalid(s"$flag needs a value")
    case flag :: _ if flag.startsWith("--")    => throw invalid(s"There is no option $flag")
    case path :: rest                          => split(rest, flags, paths :+ path)
  }

  private def offsets(text: String): StartAt =
    if (text == StartAt.Options.word) StartAt.Options
    else {
      val file = Path.of(text)
      if (!Files.isRegularFile(file)) throw invalid(s"There is no file $text with offsets")
      StartAt.Lines(Files.readAllLines(file).asScala.toSeq.filter(_.nonEmpty))
    }

  private def long(flag: String, text: String): Long =
    text.toLongOption.getOrElse(throw invalid(s"$flag is '$text', which is no whole number"))

  private def int(flag: String, text: String): Int =
    text.toIntOption.getOrElse(throw invalid(s"$flag is '$text', which is no whole number"))

  private def invalid(problem: String) = new InvalidException(problem, s"The command is: $Usage")
}
