package io.bucketstate.move

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.bucketstate.config.ConfigKey
import io.bucketstate.error.InvalidException
import io.bucketstate.move.log.LogText
import io.bucketstate.move.read.Provider

/** What is wanted of a move, as a name for people. */
sealed abstract class MoveKind(val name: String)

object MoveKind {

  /** Spark's own providers into this one. */
  case object Import extends MoveKind("import")

  /** This provider into one of Spark's own. */
  case object Export extends MoveKind("export")

  /** This provider into this one, with something changed. */
  case object Rewrite extends MoveKind("rewrite")

  /** The state stays, and the sources begin anew; from any provider. */
  case object Handover extends MoveKind("handover")

  /** This provider into this one, with rows for some keys. */
  case object Upsert extends MoveKind("upsert")

  val All: Seq[MoveKind] = Seq(Import, Export, Rewrite, Handover, Upsert)
}

/** Where sources begin after a handover. */
sealed trait StartAt

object StartAt {

  /** Where their own options say. */
  case object Options extends StartAt {

    /** What it is asked for by. */
    val word: String = "options"
  }

  /** At these offsets, a line for each source, in the form of Spark's offset log. */
  final case class Lines(lines: Seq[String]) extends StartAt
}

/**
 * A move of a stopped query's checkpoint. All changes may be combined in one. Immutable.
 *
 * @param source          the checkpoint, as a path or URI; it is never written to, but in place
 * @param target          a folder that is empty or does not exist; empty itself for a rewrite in place
 * @param batch           a committed batch to take; None for the last
 * @param to              whose files the target gets
 * @param partitions      of all operators with keys; None for as many as there are
 * @param buckets         in each store of this provider; None for as many as there are, or the setting
 * @param format          of checkpoints, 1 or 2; None for the same
 * @param deleteKeys      a SQL condition on the columns of a grouping key: keys that it is true for are left out
 * @param operator        the operator whose keys are left out, or given as rows; None where there is one alone
 * @param offsets         where sources begin; None where they were
 * @param rows            Parquet files with rows for keys, where no frame is given
 * @param sourceProvider  whose files the source has, where the class that was recorded is not known
 * @param verifyFully     whether the target is read back before it is published, or its keys counted alone
 * @param inPlace         whether the checkpoint itself gets other partitions, as a batch of its own
 */
final case class MoveRequest(
    kind: MoveKind,
    source: String,
    target: String,
    batch: Option[Long] = None,
    to: String = "bucketstate",
    partitions: Option[Int] = None,
    buckets: Option[Int] = None,
    format: Option[Int] = None,
    deleteKeys: Option[String] = None,
    operator: Option[Long] = None,
    offsets: Option[StartAt] = None,
    rows: Option[String] = None,
    sourceProvider: Option[String] = None,
    verifyFully: Boolean = true,
    inPlace: Boolean = false
) {
  import MoveRequest._

  require(source, "the checkpoint to read")
  if (inPlace) requireInPlace(this) else require(target, "the folder to write")
  within("partitions", partitions, Int.MaxValue)
  within("buckets", buckets, ConfigKey.MostBuckets)
  format.filter(f => f != 1 && f != 2).foreach { f =>
    throw invalid(s"There is no checkpoint format $f", "Give 1 or 2.")
  }
  private[move] val provider: Provider = Provider.named(to)
}

object MoveRequest {

  /** From the JSON that the Python package and the command hand over. Unknown members are refused. */
  def of(json: String): MoveRequest = {
    val read =
      try LogText.Json.readTree(json)
      catch {
        case e: JsonProcessingException =>
          throw invalid(
            s"What is asked for is no JSON: ${e.getOriginalMessage}",
            "Give a JSON object."
          )
      }
    val node = read match {
      case found: ObjectNode => found
      case _                 => throw invalid("A move is asked for with a JSON object", "Give one.")
    }
    node.fieldNames.forEachRemaining { name =>
      if (!Members(name)) {
        throw invalid(
          s"A move has no member '$name'",
          s"It has ${Members.toSeq.sorted.mkString(", ")}."
        )
      }
    }
    def member[A](name: String)(read: JsonNode => A): Option[A] =
      Option(node.get(name)).filterNot(_.isNull).map(read)
    val kind = member("kind")(_.asText).getOrElse("")
    MoveRequest(
      MoveKind.All.find(_.name == kind).getOrElse {
        throw invalid(
          s"'$kind' is no kind of move",
          s"Give one of ${MoveKind.All.map(_.name).mkString(", ")}."
        )
      },
      member("source")(_.asText).getOrElse(""),
      member("target")(_.asText).getOrElse(""),
      member("batch")(_.asLong),
      member("to")(_.asText).getOrElse("bucketstate"),
      member("partitions")(_.asInt),
      member("buckets")(_.asInt),
      member("format")(_.asInt),
      member("deleteKeys")(_.asText),
      member("operator")(_.asLong),
      member("offsets") { found =>
        if (found.isTextual && found.asText == StartAt.Options.word) StartAt.Options
        else if (found.isArray) {
          val lines = Seq.newBuilder[String]
          found.elements.forEachRemaining(line => lines += line.asText)
          StartAt.Lines(lines.result())
        } else
          throw invalid(
            s"'$found' says not where sources begin",
            s"Give '${StartAt.Options.word}', or a list of lines."
          )
      },
      member("rows")(_.asText),
      member("sourceProvider")(_.asText),
      member("verify")(_.asText).forall(isFull),
      member("inPlace")(_.asBoolean).getOrElse(false)
    )
  }

  /** Whether a target is to be read back. */
  private[move] def isFull(verify: String): Boolean = verify match {
    case "full"   => true
    case "counts" => false
    case other    => throw invalid(s"'$other' is no way to verify", "Give 'full' or 'counts'.")
  }

  private val Members = Set(
    "kind",
    "source",
    "target",
    "batch",
    "to",
    "partitions",
    "buckets",
    "format",
    "deleteKeys",
    "operator",
    "offsets",
    "rows",
    "sourceProvider",
    "verify",
    "inPlace"
  )

  private def require(path: String, what: String): Unit =
    if (path.trim.isEmpty) throw invalid(s"The path of $what is empty", "Give a path or a URI.")

  /** In place the number of partitions changes, and nothing else. */
  private def requireInPlace(request: MoveRequest): Unit = {
    val others = Seq(
      "another kind than rewrite" -> (request.kind != MoveKind.Rewrite),
      "a target" -> request.target.nonEmpty,
      "a batch" -> request.batch.isDefined,
      "another provider" -> (request.to != "bucketstate"),
      "buckets" -> request.buckets.isDefined,
      "a format" -> request.format.isDefined,
      "keys to delete" -> (request.deleteKeys.isDefined || request.operator.isDefined),
      "offsets" -> request.offsets.isDefined,
      "a source provider" -> request.sourceProvider.isDefined
    ).collect { case (what, true) => what }
    if (others.nonEmpty) {
      throw invalid(
        s"In place the number of partitions changes and nothing else, and ${others.mkString(", ")} was asked for, too",
        "Leave that out, or rewrite into a new folder."
      )
    }
    if (request.partitions.isEmpty) {
      throw invalid(
        "It is not said how many partitions the state is to have",
        "Give --partitions."
      )
    }
  }

  private def within(what: String, number: Option[Int], most: Int): Unit =
    number.filter(n => n < 1 || n > most).foreach { n =>
      throw invalid(s"$what is $n", s"Give a number from 1 to $most.")
    }

  private def invalid(problem: String, remedy: String) = new InvalidException(problem, remedy)
}
