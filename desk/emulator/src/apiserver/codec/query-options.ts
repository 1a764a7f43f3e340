import { invalid } from '../http/api-failure.ts'
import { FieldErrors } from '../http/field-errors.ts'
import { isList, type Json, type JsonMap, textAt } from '../schema/json.ts'
import { schemaNamed } from '../schema/schema.ts'
import { bodyOf } from './decode-body.ts'

/** The handling of unknown fields: ignore them, warn about them, or refuse them. They are never stored. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

/** The query parameters of a write. */
export interface WriteOptions {
  readonly dryRun: boolean
  readonly fieldValidation: FieldValidation
}

/** The query parameters and the body of a deletion. */
export interface DeletionOptions {
  readonly dryRun: boolean
  readonly gracePeriodSeconds?: number | undefined
  readonly propagationPolicy?: string | undefined
  readonly preconditions?: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
}

type OptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'DeleteOptions' | 'ListOptions'

/** Throws 422 if the options of a request have errors. */
export function refuseOptions(kind: OptionsKind, errors: FieldErrors): void {
  if (errors.none) return
  throw invalid({ group: 'meta.k8s.io', plural: kind, kind }, '', errors.causes)
}

const FIELD_VALIDATIONS: readonly string[] = ['', 'Ignore', 'Strict', 'Warn']

export function writeOptionsOf(kind: OptionsKind, query: URLSearchParams): WriteOptions {
  const errors = new FieldErrors()
  const dryRun = dryRunOf(errors, query.getAll('dryRun'))
  const fieldValidation = query.get('fieldValidation') ?? ''
  if (kind === 'PatchOptions' && query.get('force') !== null) {
    errors.forbidden('force', 'may not be specified for non-apply patch')
  }
  if (!FIELD_VALIDATIONS.includes(fieldValidation)) {
    errors.unsupported('fieldValidation', fieldValidation, FIELD_VALIDATIONS)
  }
  refuseOptions(kind, errors)
  return { dryRun, fieldValidation: (fieldValidation || 'Warn') as FieldValidation }
}

function dryRunOf(errors: FieldErrors, asked: readonly Json[]): boolean {
  const named = asked.filter((each) => each !== '')
  if (named.some((each) => each !== 'All')) errors.unsupported('dryRun', named, ['All'])
  return named.length > 0
}

const DELETE_OPTIONS = { name: 'DeleteOptions', schema: schemaNamed('DeleteOptions') }
const PROPAGATIONS: readonly string[] = ['Foreground', 'Background', 'Orphan', 'nil']

/** Reads the options of a DELETE from its body and its query. The body takes precedence. */
export function deleteOptionsOf(
  query: URLSearchParams,
  text: Buffer,
  contentType: string | undefined,
): DeletionOptions {
  const body: JsonMap = text.length === 0 ? {} : bodyOf(contentType, text, DELETE_OPTIONS)
  const errors = new FieldErrors()
  const fromBody = isList(body['dryRun']) ? body['dryRun'] : []
  const dryRun = dryRunOf(errors, [...fromBody, ...query.getAll('dryRun')])
  const propagationPolicy = textAt(body, 'propagationPolicy') ?? query.get('propagationPolicy') ?? undefined
  if (propagationPolicy !== undefined && !PROPAGATIONS.includes(propagationPolicy)) {
    errors.unsupported('propagationPolicy', propagationPolicy, PROPAGATIONS)
  }
  refuseOptions('DeleteOptions', errors)
  const grace = body['gracePeriodSeconds'] ?? query.get('gracePeriodSeconds')
  return {
    dryRun,
    gracePeriodSeconds: grace === null || grace === undefined ? undefined : Number(grace),
    propagationPolicy,
    preconditions: {
      uid: textAt(body, 'preconditions', 'uid'),
      resourceVersion: textAt(body, 'preconditions', 'resourceVersion'),
    },
  }
}

const MATCHES: readonly string[] = ['Exact', 'NotOlderThan', '']

/** Checks `resourceVersion` and `resourceVersionMatch` of a list request. */
export function checkListOptions(query: URLSearchParams): void {
  const errors = new FieldErrors()
  const match = query.get('resourceVersionMatch') ?? ''
  const version = query.get('resourceVersion') ?? ''
  const field = 'resourceVersionMatch'
  if (!MATCHES.includes(match)) errors.unsupported(field, match, MATCHES)
  else if (match !== '') {
    if (version === '') errors.forbidden(field, 'resourceVersionMatch is forbidden unless resourceVersion is provided')
    if ((query.get('continue') ?? '') !== '') {
      errors.forbidden(field, 'resourceVersionMatch is forbidden when continue is provided')
    }
    if (match === 'Exact' && version === '0') {
      errors.forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
    }
  }
  refuseOptions('ListOptions', errors)
}
