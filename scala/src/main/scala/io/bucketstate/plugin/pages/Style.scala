package io.bucketstate.plugin.pages

import scala.xml.Node

/** How what Spark's own style sheet does not know looks: by the colours that its page has, light or dark. */
private[pages] object Style {
  val node: Node = <style>{
    """table.bucketstate { width: auto; }
      |table.bucketstate td.number, table.bucketstate th.number { text-align: right; font-variant-numeric: tabular-nums; }
      |.bucketstate-map { margin: 0 0 1em 0; }
      |.bucketstate-map svg { display: block; max-width: 100%; height: auto; margin-top: 0.3em; }
      |.bucketstate-map rect { fill: #d9480f; stroke: currentColor; stroke-opacity: 0.25; }
      |.bucketstate-advice { border-left: 4px solid #d9480f; padding-left: 0.8em; margin-bottom: 1em; }
      |.bucketstate-quiet { opacity: 0.75; }
      |.bucketstate-wide { overflow-x: auto; }
      |details.bucketstate-more { margin-bottom: 1.5em; }""".stripMargin
  }</style>
}
