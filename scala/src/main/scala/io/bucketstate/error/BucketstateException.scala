package io.bucketstate.error

/**
 * What can go wrong in a store, in five kinds. Each message names the file or the setting, says what
 * was expected and what was found, and ends with what to do about it.
 *
 * The family knows nothing of Spark; `spark.SparkErrors` gives each kind the error class Spark's
 * users know.
 */
sealed abstract class BucketstateException(val what: String, val remedy: String, cause: Throwable)
    extends RuntimeException(s"$what $remedy", cause)

/**
 * A file exists but is not what was written: damaged, truncated, or of a foreign or newer format.
 *
 * @param isNewer whether it is of a newer format: then it is no damage, and nothing else is to be used in
 *                its place, because a newer bucketstate owns the checkpoint
 */
final class CorruptException(
    val file: String,
    problem: String,
    remedy: String,
    cause: Throwable = null,
    val isNewer: Boolean = false
) extends BucketstateException(s"$file is damaged or not readable: $problem.", remedy, cause)

/** A file that the requested version needs does not exist. */
final class MissingException(
    val file: String,
    problem: String,
    remedy: String,
    cause: Throwable = null
) extends BucketstateException(s"$file does not exist: $problem.", remedy, cause)

/** Another attempt, task or executor got there first, or still holds the store. */
final class ConflictException(problem: String, remedy: String, cause: Throwable = null)
    extends BucketstateException(s"$problem.", remedy, cause)

/** A setting that is not what the checkpoint was written with. */
final case class ChangedSetting(key: String, stored: String, current: String)

/**
 * A setting, a call or an input that can never work as given.
 *
 * @param changed set when the trouble is a setting that differs from the checkpoint's
 */
final class InvalidException(
    problem: String,
    remedy: String,
    cause: Throwable = null,
    val changed: Option[ChangedSetting] = None
) extends BucketstateException(s"$problem.", remedy, cause)

/** The file system (or another resource) failed; the same call may succeed later. */
final class UnavailableException(
    val file: String,
    problem: String,
    remedy: String,
    cause: Throwable = null
) extends BucketstateException(s"$file: $problem.", remedy, cause)
