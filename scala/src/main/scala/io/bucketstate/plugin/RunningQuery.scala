package io.bucketstate.plugin

/**
 * A query run that the driver knows.
 *
 * @param id   of the query, the same in each of its runs
 * @param name that the user gave it, or else its id
 */
private[plugin] final case class RunningQuery(run: String, id: String, name: String)
