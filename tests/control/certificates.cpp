#include "tests/control/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>

#include "runtime/base/error.h"
#include "runtime/base/scratch_folder.h"

namespace shardlab::testing_ {
namespace {

struct Free {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

void extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  std::unique_ptr<X509_EXTENSION, Free> extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  SL_CHECK(extension && X509_add_ext(certificate, extension.get(), -1), "no extension {}", value);
}

Certificate make_certificate(EVP_PKEY* key, const std::string& name, X509* issuer, EVP_PKEY* issuer_key,
                             const CertificateOptions& options) {
  static long serial = 1;
  Certificate certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), options.from_s);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), options.to_s);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), issuer ? X509_get_subject_name(issuer) : subject);
  X509* signer = issuer ? issuer : certificate.get();
  extend(certificate.get(), signer, NID_basic_constraints, issuer ? "critical,CA:FALSE" : "critical,CA:TRUE");
  std::string names;
  for (const std::string& each : options.names) names += (names.empty() ? "" : ",") + each;
  if (issuer && !names.empty()) extend(certificate.get(), signer, NID_subject_alt_name, names);
  SL_CHECK(X509_sign(certificate.get(), issuer_key, EVP_sha256()), "the certificate of {} cannot be signed", name);
  return certificate;
}

void write(const std::string& path, const X509* certificate, const EVP_PKEY* key) {
  std::unique_ptr<std::FILE, Free> file(std::fopen(path.c_str(), "w"));
  SL_CHECK(file != nullptr, "{} cannot be written", path);
  if (certificate) PEM_write_X509(file.get(), certificate);
  if (key) PEM_write_PrivateKey(file.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
}

Key make_key() { return Key(EVP_EC_gen("P-256")); }

}  // namespace

struct Authority::State {
  ScratchFolder folder{"certificates"};
  Key key = make_key();
  Certificate certificate;
};

Authority::Authority(const std::string& name) : state_(std::make_unique<State>()) {
  state_->certificate = make_certificate(state_->key.get(), name, nullptr, state_->key.get(), {});
  write(file(), state_->certificate.get(), nullptr);
}

Authority::~Authority() = default;

std::string Authority::file() const { return state_->folder / "authority.pem"; }
const std::filesystem::path& Authority::folder() const { return state_->folder.path(); }

CertificateFiles Authority::issue(const std::string& name, const CertificateOptions& options) {
  Key key = make_key();
  Certificate certificate = make_certificate(key.get(), name, state_->certificate.get(), state_->key.get(), options);
  CertificateFiles files{state_->folder / (name + ".pem"), state_->folder / (name + ".key")};
  write(files.certificate, certificate.get(), nullptr);
  write(files.key, nullptr, key.get());
  return files;
}

}  // namespace shardlab::testing_
