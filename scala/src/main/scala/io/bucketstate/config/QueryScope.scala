package io.bucketstate.config

import io.bucketstate.config.ConfigKey.{TimeBucketColumn, TimeBucketExpireAfter, TimeBucketSpan}
import io.bucketstate.error.InvalidException

/**
 * Which query and operator settings are wanted for. A session has one set of settings for all its queries; those that
 * are [[ConfigKey.perQuery]] can also be given for some, by what follows the key:
 *
 * {{{
 *   <key>.query.<name>.operator.<number>    first, if it is there
 *   <key>.query.<name>
 *   <key>.operator.<number>
 *   <key>                                   last
 * }}}
 *
 * `timeBucket.expireAfter=never` with a suffix leaves out `timeBucket.column` and `timeBucket.span` of wider scopes, too.
 *
 * @param query    its name; None if it has none
 * @param operator Spark's number of the stateful operator in the query, from 0
 */
final case class QueryScope(query: Option[String], operator: Option[Long]) {
  import QueryScope._

  /** The settings with those that are meant for this scope in the place of the more general ones. */
  def narrow(settings: Map[String, String]): Map[String, String] =
    settings ++ perQuery.flatMap { key =>
      suffixes.flatMap(suffix => settings.get(key.key + suffix)).headOption.map(key.key -> _)
    } ++ takenOut(settings)

  /**
   * The defaults of the column and the span, where `expireAfter=never` is given more narrowly than they are: nobody who
   * takes an operator out means to be asked for the column that all others have.
   */
  private def takenOut(settings: Map[String, String]): Map[String, String] = {
    def whereOf(key: ConfigKey) = suffixes.find(suffix => settings.contains(key.key + suffix))
    val never = whereOf(TimeBucketExpireAfter).filter { suffix =>
      settings(TimeBucketExpireAfter.key + suffix).trim == TimeBucketExpireAfter.default
    }
    never.toSeq.flatMap { suffix =>
      val asNarrow = suffixes.takeWhile(_ != suffix) :+ suffix
      Seq(TimeBucketColumn, TimeBucketSpan)
        .filterNot(key => whereOf(key).exists(asNarrow.contains))
        .map(key => key.key -> key.default)
    }.toMap
  }

  private def suffixes: Seq[String] = {
    val ofQuery = query.map(s"$OfQuery" + _).toSeq
    val ofOperator = operator.map(s"$OfOperator" + _).toSeq
    ofQuery.flatMap(q => ofOperator.map(q + _)) ++ ofQuery ++ ofOperator
  }
}

object QueryScope {
  private val OfQuery = ".query."
  private val OfOperator = ".operator."

  /** Takes the settings without a suffix. */
  val Unknown: QueryScope = QueryScope(None, None)

  private val perQuery = ConfigKey.all.filter(_.perQuery)

  /** Whether a key is one of those with a suffix. Throws where the suffix can be none. */
  private[config] def isScoped(key: String): Boolean =
    perQuery.exists { setting =>
      key.startsWith(setting.key + ".") && {
        key.drop(setting.key.length) match {
          case Suffix(_*) => true
          case other      =>
            throw new InvalidException(
              s"Unknown setting $key: '$other' names no query or operator",
              s"Behind ${setting.key} may stand .query.<name>, .operator.<number>, or one after the other."
            )
        }
      }
    }

  /** Whether there are settings for queries by their names. */
  def hasQueries(settings: Map[String, String]): Boolean =
    perQuery.exists(setting => settings.keysIterator.exists(_.startsWith(setting.key + OfQuery)))

  private val Suffix = "\\.(?:query\\..+|operator\\.(?:0|[1-9][0-9]*))".r
}
