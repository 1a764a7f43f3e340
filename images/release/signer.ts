/** Signs what a release publishes. Each `is` is true only if a signature of this release was found and holds. */
export interface Signer {
  /** `subject` is `host/owner/name@sha256:...`. */
  isSigned(subject: string): Promise<boolean>
  sign(subject: string): Promise<void>
  isAttested(subject: string, statement: Statement): Promise<boolean>
  attest(subject: string, statement: Statement): Promise<void>
  /** Writes the signature of a file beside it. */
  signFile(file: string): Promise<void>
}

/** What is said about a subject, by the names that cosign has for it. */
export interface Statement {
  readonly type: 'spdxjson' | 'openvex'
  /** What is said, as JSON. */
  readonly file: string
}

/** The name of a signature beside its file. */
export const SIGNATURE = '.sigstore.json'
