import { ApiFailure } from './api-failure.ts'
import type { Entry } from './collection.ts'
import type { JsonObject } from './json.ts'
import { groupVersionOf, type Kind } from './kinds.ts'
import type { Listing } from './list-options.ts'
import { partial, type RowObject, type TableOptions, tableOf } from './tables/table.ts'

/** In which form a client wants objects. */
export type Shape =
  | { readonly as: 'object' }
  | { readonly as: 'partial' }
  | { readonly as: 'table'; readonly rows: RowObject }

export const PLAIN: Shape = { as: 'object' }

const AVAILABLE =
  'application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, ' +
  'application/vnd.kubernetes.protobuf;stream=watch'

/** Reads the Accept header: the first of its forms that there is. */
export function shapeOf(accept: string | undefined, query: URLSearchParams): Shape {
  if (accept === undefined || accept === '') return PLAIN
  for (const part of accept.split(',')) {
    const [type = '', ...parameters] = part.split(';').map((each) => each.trim())
    const as = parameters.find((each) => each.startsWith('as='))?.slice(3)
    if (type === 'application/json' && as === 'Table') return { as: 'table', rows: rowsOf(query) }
    if (type === 'application/json' && as?.startsWith('PartialObjectMetadata') === true) return { as: 'partial' }
    if (as === undefined && ['application/json', 'application/*', '*/*'].includes(type)) return PLAIN
  }
  const message = `406: Not Acceptable\n\nAvailable representations: ${AVAILABLE}`
  throw new ApiFailure(406, 'NotAcceptable', message, { details: {} })
}

function rowsOf(query: URLSearchParams): RowObject {
  const asked = query.get('includeObject')
  return asked === 'None' || asked === 'Object' ? asked : 'Metadata'
}

/** The JSON of one object, with its kind in front. */
export function objectText(kind: Kind, entry: Pick<Entry, 'text'>): string {
  return `{"kind":"${kind.kind}","apiVersion":"${groupVersionOf(kind)}",${entry.text.slice(1)}`
}

export interface Rendering {
  readonly shape: Shape
  readonly now: number
}

/** One object in the form that was asked for. */
export function renderObject(
  kind: Kind,
  entry: Pick<Entry, 'object' | 'text'>,
  rendering: Rendering,
  header = true,
): string {
  const { shape, now } = rendering
  switch (shape.as) {
    case 'object':
      return objectText(kind, entry)
    case 'partial':
      return JSON.stringify(partial(entry.object))
    case 'table': {
      const { resourceVersion = '' } = entry.object.metadata
      const options: TableOptions = { rows: shape.rows, now, header }
      return JSON.stringify(tableOf(kind, [entry], { resourceVersion }, options))
    }
  }
}

/** A list in the form that was asked for; as objects it is put together from their kept texts. */
export function renderList(kind: Kind, listing: Listing, { shape, now }: Rendering): string {
  const metadata: JsonObject = {
    resourceVersion: String(listing.revision),
    continue: listing.next,
    remainingItemCount: listing.remaining,
  }
  switch (shape.as) {
    case 'object': {
      const head = JSON.stringify({ kind: `${kind.kind}List`, apiVersion: groupVersionOf(kind), metadata })
      return `${head.slice(0, -1)},"items":[${listing.entries.map((entry) => entry.text).join(',')}]}`
    }
    case 'partial': {
      const items = listing.entries.map((entry) => partial(entry.object))
      return JSON.stringify({ kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata, items })
    }
    case 'table':
      return JSON.stringify(tableOf(kind, listing.entries, metadata, { rows: shape.rows, now, header: true }))
  }
}
