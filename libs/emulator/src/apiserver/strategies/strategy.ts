import type { FieldErrors } from '../http/field-errors.ts'
import type { ApiObject } from '../schema/json.ts'
import type { Store } from '../storage/store.ts'
import type { NameCheck } from './names.ts'
import type { FieldRule } from './rules.ts'

/** The particular behaviour of one kind. Each function gets frozen objects and returns new ones. */
export interface Strategy {
  readonly name?: NameCheck
  /** Finalizers need not be of a domain. */
  readonly anyFinalizer?: boolean
  /** A new object may bring its status. */
  readonly keepsStatus?: boolean
  /** Fills fields that follow from other fields, after the defaults of the types. */
  readonly defaults?: (object: ApiObject) => ApiObject
  /** `now` is a timestamp in the API's form. */
  readonly prepareCreate?: (object: ApiObject, now: string) => ApiObject
  readonly prepareUpdate?: (object: ApiObject, old: ApiObject) => ApiObject
  readonly prepareStatus?: (object: ApiObject, old: ApiObject, now: string) => ApiObject
  /** The rules of the fields, which are checked on creation and on every update of the whole object. */
  readonly rules?: FieldRule
  /** Checks conditions across several fields. Runs after the rules. */
  readonly validate?: (errors: FieldErrors, object: ApiObject, old: ApiObject | undefined) => void
  /** Paths of fields that no update changes. */
  readonly fixed?: readonly string[]
  readonly validateUpdate?: (errors: FieldErrors, object: ApiObject, old: ApiObject) => void
  readonly validateStatus?: (errors: FieldErrors, object: ApiObject, old: ApiObject) => void
  /** Warnings for the writer. */
  readonly warnings?: (object: ApiObject, old: ApiObject | undefined) => readonly string[]
  /** Completes a new object from other objects, as admission plugins do. */
  readonly complete?: (store: Store, object: ApiObject) => ApiObject
  /** Checks against other objects, as admission plugins do; throws an ApiFailure. */
  readonly admit?: (store: Store, object: ApiObject, old: ApiObject | undefined) => void
}

/** Strategies by the names of kinds. */
export type Strategies = Readonly<Record<string, Strategy>>
