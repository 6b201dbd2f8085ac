"""What the name of a column says of its content, in English, German, French and Spanish."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from fnmatch import fnmatchcase

# Patterns for one word of a name, or for all of its words written together, without accents.
PERSON = (
    "patient* patid pat pid person persons personid personnr personen* personalnummer personalnr "
    "persona personne personnes persnr persid subject* subjid usubjid member members memberid mrn "
    "client* customer* employee* resident* participant* respondent* primaryid proband* "
    "teilnehmer* versicherte* mitarbeiter* kunde kunden* einwohner* pseudonym* ipp salarie* "
    "assure* beneficiaire* adherent* individu* paciente* cliente* empleado* asegurad* nip nhc "
    "numerohistoria passenger*"
)
IDENTIFIER = "id ids identifier identifiant identificador kennung key uid uuid guid"
NUMBER = "nr nbr no num number nummer numero"
ROW = (
    "visit* encounter* admission* stay* episode* event* row* index line* unnamed* transaction* "
    "order* invoice* bill* sample* specimen* measurement* aufenthalt* besuch* zeile* rechnung* "
    "probe* sejour* passage* ligne* visita* ingreso* episodio* fila*"
)
RECORD = "record* case* report* fall* akte* dossier* enregistrement* caso* registro*"
GROUP = (
    "hospital* clinic* ward* doctor* physician* site* center* centre* school* household* hhid "
    "family* company employer* department* insurer* team* unit* study klinik* krankenhaus* arzt* "
    "praxis* station* schul* haushalt* familie* firma* abteilung* krankenkasse* studie* hopital* "
    "medecin* foyer* menage* famille* ecole* medico* hogar* familia* escuela* empresa* party* "
    "partei* manager* vorgesetzte*"
)
NUMBER_OF_PERSON = (
    "ssn socialsecurity* nss nir securitesociale* nhs* dni nie nif curp aadhaar passport* "
    "license* licence* driverslicen* taxid* medicareid medicareno medicarenumber iban bic "
    "account* creditcard* *versichertennummer kvnr svnr ahv* *versicherungsnummer reisepass* "
    "ausweis* steuerid* steuernummer konto* passeport* compte* pasaporte* cuenta* "
    "nationalinsurance* kvnummer* numsecu* numerosecu* *ausweisnummer drivers"
)
CONTACT = (
    "surname* firstname* lastname* forename* middlename* fullname* givenname* familyname* "
    "maidenname* patientname* nickname* username* login initials *email* mail mails mailadd* "
    "phone* telephone* mobile* cellphone* fax* *address* street* housenumber* houseno* ip "
    "ipaddress url website* homepage* gps* latitude* longitude* coordinates photo* signature* "
    "vorname* nachname* familienname* geburtsname* zuname* rufname* telefon* tel handy* "
    "mobilnummer* anschrift* *adresse* *strasse* hausnummer* hausnr* prenom* nomdefamille* "
    "nomusuel* courriel* portable* rue apellido* primernombre* segundonombre* correo* movil* "
    "celular* direccion* domicilio* calle*"
)
_NAME = frozenset(("name", "nom", "nombre"))
_OF_PEOPLE = frozenset(
    (
        *("patient", "person", "client", "customer", "member", "contact", "employee", "full"),
        *("first", "last", "middle", "given", "family", "maiden", "birth", "mother", "father"),
        *("de", "du", "del", "la", "le", "of", "the", "paciente", "persona", "cliente", "id"),
        *("naissance", "usuel", "famille", "complet", "completo", "nacimiento"),
    )
)
_ALONE = frozenset(("first", "last", "middle", "maiden", "lat", "lon", "lng"))
FREE_TEXT = (
    "remark* comment* note notes narrative* freetext* description* text letter* anamnese* "
    "bemerkung* kommentar* notiz* freitext* anmerkung* befund* beschreibung* remarque* "
    "commentaire* observation* observacion* comentario* descripcion* nota notas"
)
CODE = "code codes codigo* schluessel* drg* cpt hcpcs ops atc"
AMOUNT = "salary* income* einkommen* gehalt* salaire* revenu* salario*"
# The most telling first.
SENSITIVE = (
    "diagnos* *diagnose* diag icd* dx disease* illness* disorder* condition* erkrankung* "
    "krankheit* maladie* pathologie* enfermedad* patologia* reaction* symptom* sintoma* "
    "medication* drug* medikament* medicament* wirkstoff* treatment* behandlung* therap* "
    "traitement* tratamiento* procedure* prozedur* offence* offense* crime* straftat* delit* "
    "religion* konfession* disability* behinderung* handicap* occupation* beruf* profession* "
    f"ocupacion* {AMOUNT}"
)
SEX = "sex sexe sexo gender geschlecht genre genero"
BIRTH = (
    "birth* born dob yob dateofbirth geburt* gebdat* gebjahr* jahrgang naissance* "
    "datenaissance* nacimiento* fechanacimiento*"
)
DATE = f"{BIRTH} date* *datum day tag jour fecha* dia"
DIGIT_CODE = "zip* plz postcode* postal* postleitzahl* codepostal* codigopostal* cap fips"
QUASI_IDENTIFIER = (
    f"{SEX} {BIRTH} {DIGIT_CODE} age ages alter edad city town stadt ort wohnort* gemeinde* ville "
    "commune* ciudad municipio* region* county state bundesland* land country* pays pais canton* "
    "kanton* provinc* departement* bezirk* district* race ethnic* nationalit* nativecountry "
    "nacionalidad staatsangehorig* marital* familienstand* etatcivil estadocivil education* "
    "bildung* schulabschluss* niveauetude* educacion* children kinder* enfants hijos height "
    "weight groesse grosse gewicht taille poids altura peso"
)


_ALL = " ".join(
    [
        PERSON,
        IDENTIFIER,
        NUMBER,
        ROW,
        RECORD,
        GROUP,
        NUMBER_OF_PERSON,
        CONTACT,
        FREE_TEXT,
        AMOUNT,
        SENSITIVE,
        DATE,
        QUASI_IDENTIFIER,
    ]
)


def words(name: str) -> list[str]:
    """The words of a column's name, in small letters and without accents.

    >>> words("patientID"), words("zip_code2"), words("Straße/Größe")
    (['patient', 'id'], ['zip', 'code'], ['strasse', 'grosse'])
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    plain = unicodedata.normalize("NFKD", spaced.casefold())
    return re.findall(r"[^\W\d_]+", "".join(c for c in plain if not unicodedata.combining(c)))


def says(name: str, patterns: str) -> bool:
    """Whether one word of a name, or all of them together, fit one of the patterns.

    >>> says("date_of_birth", BIRTH), says("First Name", CONTACT), says("age", CONTACT)
    (True, True, False)
    """
    return any(fnmatchcase(word, pattern) for word in _spelt(name) for pattern in patterns.split())


def is_called_by_name(name: str) -> bool:
    """Whether a column seems to hold names of people, or where they are; there are other names.

    >>> is_called_by_name("Patient name"), is_called_by_name("LAST")
    (True, True)
    >>> is_called_by_name("hospital_name"), is_called_by_name("last visit")
    (False, False)
    """
    found = set(words(name))
    return bool(found & _NAME and found - _NAME <= _OF_PEOPLE) or (
        len(found) == 1 and found <= _ALONE
    )


def is_count(name: str) -> bool:
    """Whether a column counts what its name says.

    >>> is_count("number_diagnoses"), is_count("diagnosis number"), is_count("Anzahl Diagnosen")
    (True, False, True)
    """
    found = words(name)
    return len(found) > 1 and found[0] in ("number", "num", "count", "anzahl", "nombre", "numero")


def is_known_word(name: str) -> bool:
    """Whether a name says what its column is, in any of the ways above.

    >>> is_known_word("patient_id"), is_known_word("Diagnose"), is_known_word("Smith")
    (True, True, False)
    """
    return is_called_by_name(name) or says(name, _ALL)


def _spelt(name: str) -> Iterator[str]:
    found = words(name)
    yield from found
    if len(found) > 1:
        yield "".join(found)
