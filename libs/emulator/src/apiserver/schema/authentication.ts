/** The group authentication.k8s.io. The notation is that of schema.ts. */
export const AUTHENTICATION = `
SelfSubjectReview
  metadata:1 ObjectMeta, status:2 SelfSubjectReviewStatus
SelfSubjectReviewStatus
  userInfo:1 UserInfo
TokenReview
  metadata:1 ObjectMeta, spec:2 TokenReviewSpec, status:3 TokenReviewStatus
TokenReviewSpec
  audiences:2 [string], token:1
TokenReviewStatus
  audiences:4 [string], authenticated:1 bool, error:3, user:2 UserInfo
UserInfo
  extra:4 {[string]}, groups:3 [string], uid:2, username:1
AccountTokenRequest
  metadata:1 ObjectMeta, spec:2 AccountTokenRequestSpec
AccountTokenRequestSpec
  audiences:1 [string], expirationSeconds:4? long
`
