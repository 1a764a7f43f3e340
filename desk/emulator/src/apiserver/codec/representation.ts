import { ApiFailure } from '../http/api-failure.ts'
import type { JsonMap } from '../schema/json.ts'
import { groupVersionOf, type ServedKind } from '../schema/kinds.ts'
import type { StoredEntry } from '../storage/collection.ts'
import type { ListedPage } from '../storage/list-page.ts'
import { partial, type RowObject, type TableOptions, tableOf } from '../tables/table.ts'
import { PROTOBUF } from './protobuf/decode.ts'
import { listBytes, objectBytes } from './protobuf/envelope.ts'

/** The representation of objects that a client requests: JSON, protobuf, metadata only, or a table. */
export type AnswerForm =
  | { readonly as: 'object' }
  | { readonly as: 'message' }
  | { readonly as: 'partial' }
  | { readonly as: 'table'; readonly rows: RowObject }

export const PLAIN: AnswerForm = { as: 'object' }
const MESSAGE: AnswerForm = { as: 'message' }

/** The form of an answer, and the time from which tables compute ages. */
export interface Rendering {
  readonly shape: AnswerForm
  readonly now: number
}

/** Returns the media type of an answer in a form. `stream` is true for a watch. */
export function mediaTypeOf({ as }: AnswerForm, stream = false): string {
  if (as !== 'message') return 'application/json'
  return stream ? `${PROTOBUF};stream=watch` : PROTOBUF
}

const AVAILABLE =
  'application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, ' +
  'application/vnd.kubernetes.protobuf;stream=watch'

/** Returns the supported form with the highest weight in an Accept header. */
export function shapeOf(
  accept: string | undefined,
  query: URLSearchParams,
  { custom }: Pick<ServedKind, 'custom'>,
): AnswerForm {
  if (accept === undefined || accept === '') return PLAIN
  for (const { type, as, version } of formsIn(accept)) {
    if (as === undefined && ['application/json', 'application/*', '*/*'].includes(type)) return PLAIN
    if (as === undefined && type === PROTOBUF && !custom) return MESSAGE
    if (type !== 'application/json' || version !== 'v1') continue
    if (as === 'Table') return { as: 'table', rows: rowsOf(query) }
    if (as?.startsWith('PartialObjectMetadata') === true) return { as: 'partial' }
  }
  const message = `406: Not Acceptable\n\nAvailable representations: ${AVAILABLE}`
  throw new ApiFailure('NotAcceptable', message, { details: {} })
}

interface Form {
  readonly type: string
  readonly as: string | undefined
  readonly version: string | undefined
}

function formsIn(accept: string): readonly Form[] {
  const forms = accept.split(',').map((part) => {
    const [type = '', ...parameterTexts] = part.split(';').map((each) => each.trim())
    const parameters = new Map(parameterTexts.map((each) => each.split('=', 2) as [string, string]))
    const weight = Number(parameters.get('q') ?? 1)
    // If two media types have the same weight, the more specific type comes first.
    const open = Number(type === '*/*') + Number(type.endsWith('/*'))
    return { type, as: parameters.get('as'), version: parameters.get('v'), weight, open }
  })
  return forms.sort((a, b) => b.weight - a.weight || a.open - b.open)
}

function rowsOf(query: URLSearchParams): RowObject {
  const asked = query.get('includeObject')
  return asked === 'None' || asked === 'Object' ? asked : 'Metadata'
}

/** Returns the JSON of an object, which begins with its kind. */
export function objectText(kind: ServedKind, entry: Pick<StoredEntry, 'text'>): string {
  return `{"kind":"${kind.kind}","apiVersion":"${groupVersionOf(kind)}",${entry.text.slice(1)}`
}

/** Returns the JSON of a list item. Only items of custom resources state their kind. */
function itemText(kind: ServedKind, entry: Pick<StoredEntry, 'text'>): string {
  return kind.custom ? objectText(kind, entry) : entry.text
}

/** Returns an object in the form that the client requests. */
export function renderObject(
  kind: ServedKind,
  entry: Pick<StoredEntry, 'object' | 'text'>,
  { shape, now, header = true }: Rendering & { readonly header?: boolean },
): string | Buffer {
  switch (shape.as) {
    case 'object':
      return objectText(kind, entry)
    case 'message':
      return objectBytes(kind, entry.object)
    case 'partial':
      return JSON.stringify(partial(entry.object))
    case 'table': {
      const { resourceVersion = '' } = entry.object.metadata
      const options: TableOptions = { rows: shape.rows, now, header }
      return JSON.stringify(tableOf(kind, [entry], { ...options, metadata: { resourceVersion } }))
    }
  }
}

/** Returns a list in the form that the client requests. */
export function renderList(kind: ServedKind, listing: ListedPage, { shape, now }: Rendering): string | Buffer {
  const metadata: JsonMap = {
    resourceVersion: String(listing.revision),
    continue: listing.next,
    remainingItemCount: listing.remainingItemCount,
  }
  switch (shape.as) {
    case 'object': {
      const listMetadata = kind.custom ? { ...metadata, continue: listing.next ?? '' } : metadata
      const head = JSON.stringify({
        kind: `${kind.kind}List`,
        apiVersion: groupVersionOf(kind),
        metadata: listMetadata,
      })
      return `${head.slice(0, -1)},"items":[${listing.entries.map((entry) => itemText(kind, entry)).join(',')}]}`
    }
    case 'message':
      return listBytes(kind, listing)
    case 'partial': {
      const items = listing.entries.map((entry) => partial(entry.object))
      return JSON.stringify({ kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata, items })
    }
    case 'table':
      return JSON.stringify(tableOf(kind, listing.entries, { rows: shape.rows, now, header: true, metadata }))
  }
}
